# Text files that become constants of the program, so that it needs none of them at run time.

# sluice_embedded_text(TARGET HEADER NAME FILE...) adds a source to TARGET that defines the std::string_view NAME, which HEADER (a
# path within the folder) declares in sluice::engine, as the joined text of the files.
function(sluice_embedded_text target header name)
  set(text "")
  foreach(file IN LISTS ARGN)
    file(READ ${file} part)
    string(APPEND text "${part}")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(code "#include \"${folder}/${header}\"\n\nnamespace sluice::engine {\n\n")
  string(APPEND code "const std::string_view ${name} = R\"sluice(${text})sluice\";\n\n}  // namespace sluice::engine\n")
  string(REGEX REPLACE "[.]hpp$" "_text.cpp" source ${CMAKE_CURRENT_BINARY_DIR}/${header})
  file(CONFIGURE OUTPUT ${source} CONTENT "${code}" @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()

# sluice_embedded_templates(TARGET) adds a source to TARGET that defines shipped_templates() from chat/templates.
function(sluice_embedded_templates target)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/chat/templates/*.jinja)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(code "#include \"engine/chat/shipped_templates.hpp\"\n\nnamespace sluice::engine {\n\n")
  string(APPEND code "const std::vector<ShippedTemplate>& shipped_templates() {\n"
                     "  static const std::vector<ShippedTemplate> all = {\n")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WLE)
    file(READ ${file} text)
    string(APPEND code "      {\"${name}\", R\"sluice(${text})sluice\"},\n")
  endforeach()
  string(APPEND code "  };\n  return all;\n}\n\n}  // namespace sluice::engine\n")
  set(source ${CMAKE_CURRENT_BINARY_DIR}/chat/shipped_templates_text.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "${code}" @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
