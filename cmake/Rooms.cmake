# Rooms: the folders inside sim's right neighbours, each an object library of its own.

# sluice_room(LIBRARY ROOM SOURCE...) compiles the sources of the folder ROOM into LIBRARY. In a unity build they are one batch, so
# that no batch crosses rooms and what a build depends on does not change where another room gains a file. Sources see what the
# variable LIBRARY_uses names (targets and libraries) and, as system headers, what LIBRARY_includes names.
function(sluice_room library room)
  string(REPLACE "/" "_" suffix ${room})
  set(target ${library}_${suffix})
  list(TRANSFORM ARGN PREPEND ${room}/)
  add_library(${target} OBJECT ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  target_link_libraries(${target} PRIVATE ${${library}_uses})
  target_include_directories(${target} SYSTEM PRIVATE ${${library}_includes})
  target_sources(${library} PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()
