# Every header of a folder belongs to its library's public header set, so that the target
# all_verify_interface_header_sets proves that each compiles by itself. Those of the CUDA backend
# need the toolkit.
function(sluice_header_set folder)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.hpp)
  if(NOT SLUICE_CUDA)
    list(FILTER headers EXCLUDE REGEX "/cuda/")
  endif()
  target_sources(sluice_${folder} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}
                                         FILES ${headers})
endfunction()
