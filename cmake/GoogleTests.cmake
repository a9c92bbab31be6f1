# sluice_google_tests(TARGET [LABEL...]): a ctest case for each case of a GoogleTest program, labelled quick, usual or slow as
# tests/speeds.txt has it, and with the given labels.
include(GoogleTest)
include(TestSpeeds)

function(sluice_google_tests target)
  sluice_test_speeds(${target} usual slow)
  set(longer ${usual} ${slow})
  list(JOIN usual ":" usual)
  list(JOIN slow ":" slow)
  list(JOIN longer ":" longer)
  set(quick "*")
  if(longer)
    set(quick "-${longer}")
  endif()
  set(script "")
  # Long cases go first, so that none is what the last core ends with.
  set(cost_of_quick 0)
  set(cost_of_usual 100)
  set(cost_of_slow 1000)
  foreach(speed IN ITEMS quick usual slow)
    if(NOT "${${speed}}" STREQUAL "")
      set(cases ${target}_${speed}_cases)
      # Values of parameters may hold what a CMake list cannot: cases are named by their numbers.
      gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES TEST_FILTER "${${speed}}" TEST_LIST ${cases})
      # gtest_discover_tests takes one label at most.
      set(labels ${speed} ${ARGN})
      string(APPEND script "if(${cases})\n  set_tests_properties(\${${cases}} PROPERTIES LABELS \"${labels}\" COST ${cost_of_${speed}})\nendif()\n")
    endif()
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake CONTENT "${script}" @ONLY)
  # ctest reads it after the lists of cases, which it makes first.
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
endfunction()
