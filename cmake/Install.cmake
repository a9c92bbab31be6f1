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
