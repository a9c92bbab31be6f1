# Text files that become constants of the program, so that it needs none of them at run time.

# sluice_embedded_text(TARGET HEADER NAME FILE) adds a source to TARGET that defines the std::string_view NAME, which HEADER (a path
# within the folder) declares in sluice::engine, as the text of FILE.
function(sluice_embedded_text target header name file)
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${file}.cpp)
  set(code "#include \"${folder}/${header}\"\n\nnamespace sluice::engine {\n\n")
  string(APPEND code "const std::string_view ${name} = R\"sluice(${text})sluice\";\n\n}  // namespace sluice::engine\n")
  file(CONFIGURE OUTPUT ${source} CONTENT "${code}" @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
