# tests/speeds.txt: which tests are `usual` or `slow`; every other is `quick`.
set(SLUICE_TEST_SPEEDS ${CMAKE_SOURCE_DIR}/tests/speeds.txt)
set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SLUICE_TEST_SPEEDS})

# sluice_test_speeds(PROGRAM USUAL SLOW): patterns of the cases of PROGRAM that are usual and slow, into the two variables.
function(sluice_test_speeds program usual_variable slow_variable)
  foreach(speed IN ITEMS usual slow)
    set(patterns "")
    file(STRINGS ${SLUICE_TEST_SPEEDS} lines REGEX "^${speed} +${program} ")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^[a-z]+ +[^ ]+ +([^ ]+) *$" "\\1" pattern "${line}")
      list(APPEND patterns "${pattern}")
    endforeach()
    set(${${speed}_variable} "${patterns}" PARENT_SCOPE)
  endforeach()
endfunction()

# sluice_test_speed(NAME VARIABLE): the speed of a test that is one ctest case (a Python file below tests/, or a command), into VARIABLE.
function(sluice_test_speed name variable)
  set(${variable} quick PARENT_SCOPE)
  foreach(speed IN ITEMS usual slow)
    file(STRINGS ${SLUICE_TEST_SPEEDS} lines REGEX "^${speed} +${name} *$")
    if(lines)
      set(${variable} ${speed} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()
