# sluice_python_tests(NAME LABEL...): one ctest case for each test_*.py of the current folder, run by pytest with SLUICE_BIN set to this
# build's program and its Python module, where it is built, on the path. It is labelled quick, usual or slow as tests/speeds.txt has it,
# and with the given labels. Case by case results go to pytest-results/.
include(TestSpeeds)

function(sluice_python_tests name)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    set(case pytest.${name}.${stem})
    cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/tests OUTPUT_VARIABLE path)
    sluice_test_speed(${path} speed)
    # Long files go first, so that none is what the last core ends with.
    set(cost_of_quick 10)
    set(cost_of_usual 100)
    set(cost_of_slow 1000)
    add_test(NAME ${case}
      COMMAND ${Python3_EXECUTABLE} -m pytest -q -rs -p no:cacheprovider ${file}
              --junitxml=${CMAKE_BINARY_DIR}/pytest-results/${case}.xml
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${case} PROPERTIES
      SKIP_RETURN_CODE 5  # pytest: no case was collected
      LABELS "${speed};python;${ARGN}"
      COST ${cost_of_${speed}}
      ENVIRONMENT "SLUICE_BIN=$<TARGET_FILE:sluice>;SLUICE_BUILD=${CMAKE_BINARY_DIR};SLUICE_SANITIZE=${SLUICE_SANITIZE};PYTHONPATH=${CMAKE_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endfunction()
