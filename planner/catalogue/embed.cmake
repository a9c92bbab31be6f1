# Writes the catalogue's files into one C++ source, so that the program needs none of them at
# run time.
set(catalogue_kinds models machines gpus parts kernels prices)
set(catalogue_source "#include \"planner/catalogue/catalogue_files.hpp\"\n\nnamespace sluice::planner {\n")
foreach(kind IN LISTS catalogue_kinds)
  file(GLOB catalogue_${kind} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/catalogue/${kind}/*.json ${CMAKE_CURRENT_SOURCE_DIR}/catalogue/${kind}/*.yaml)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${catalogue_${kind}})
  string(APPEND catalogue_source "\nconst std::vector<CatalogueFile>& catalogue_${kind}_files() {\n"
                                 "  static const std::vector<CatalogueFile> files = {\n")
  foreach(path IN LISTS catalogue_${kind})
    get_filename_component(name ${path} NAME_WLE)
    file(READ ${path} text)
    string(APPEND catalogue_source "      {\"${name}\", R\"sluice(${text})sluice\"},\n")
  endforeach()
  string(APPEND catalogue_source "  };\n  return files;\n}\n")
endforeach()
string(APPEND catalogue_source "\n}  // namespace sluice::planner\n")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/catalogue_files.cpp CONTENT "${catalogue_source}" @ONLY)
