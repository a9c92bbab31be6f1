# Where things lie in an install prefix and in a wheel, and how a program that was moved there finds the libraries it brings.

include(GNUInstallDirs)

# An executable's DT_RPATH, unlike DT_RUNPATH, is also searched for what its libraries open.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
add_link_options("$<$<LINK_LANGUAGE:CXX>:-Wl,--disable-new-dtags>")

# sluice_search_beside(TARGET UP [FOLDER...]): at run time TARGET's libraries are also sought in FOLDERs and in those of NVIDIA's wheels,
# which lie in the folder UP of the file's own; paths are relative to the folder of the file.
function(sluice_search_beside target up)
  set(folders ${ARGN})
  if(SLUICE_CUDA)
    foreach(package IN ITEMS cu13 cudnn nccl)
      list(APPEND folders ${up}/nvidia/${package}/lib)
    endforeach()
  endif()
  list(TRANSFORM folders PREPEND "$ORIGIN/")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${folders}")
endfunction()

# sluice_bring_libraries(): the component `libraries` of an install prefix holds the shared libraries that the program needs, but those of
# every Linux system, and their licences. With it the prefix runs on other computers with the same or a newer glibc: what cpack makes.
function(sluice_bring_libraries)
  install(RUNTIME_DEPENDENCY_SET sluice_libraries
    PRE_EXCLUDE_REGEXES "^ld-linux" "^lib(c|m|dl|rt|pthread|stdc[+][+]|gcc_s|z)[.]so"
    LIBRARY DESTINATION lib/sluice COMPONENT libraries)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${CMAKE_SOURCE_DIR}/scripts/library_licences.py\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/doc/sluice/libraries\" \"$<TARGET_FILE:sluice>\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT libraries)
  endif()
  install(FILES ${CMAKE_SOURCE_DIR}/LICENSE DESTINATION share/doc/sluice COMPONENT libraries)
endfunction()

# sluice_tarball(): cpack makes a .tar.gz of the program and its libraries.
macro(sluice_tarball)
  set(CPACK_GENERATOR TGZ)
  set(CPACK_PACKAGE_FILE_NAME sluice-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
  set(CPACK_COMPONENTS_ALL program libraries)
  set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
  set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
  set(CPACK_STRIP_FILES ON)
  set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # cpack packs what is built, and does not build the tests.
  include(CPack)
endmacro()

# sluice_pack_built(): installs what SLUICE_BUILT holds as pip would after a build.
function(sluice_pack_built)
  file(GLOB extensions ${SLUICE_BUILT}/python/sluice/_*.so)
  if(NOT EXISTS ${SLUICE_BUILT}/bin/sluice OR NOT extensions)
    message(FATAL_ERROR "SLUICE_BUILT: ${SLUICE_BUILT} lacks bin/sluice or python/sluice/_core*.so: build sluice and sluice_python there")
  endif()
  add_custom_target(sluice)
  add_custom_target(sluice_python)
  install(FILES ${extensions} DESTINATION sluice COMPONENT python)
  install(PROGRAMS ${SLUICE_BUILT}/bin/sluice DESTINATION sluice_program/bin COMPONENT python)
endfunction()
