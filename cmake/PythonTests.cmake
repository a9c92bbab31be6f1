# sluice_python_tests(NAME LABEL...): one ctest case for each test_*.py of the current folder, run by
# pytest with SLUICE_BIN set to this build's program and its Python module, where it is built, on the path. Case by case results go to pytest-results/.
function(sluice_python_tests name)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/test_*.py)
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    set(case pytest.${name}.${stem})
    add_test(NAME ${case}
      COMMAND ${Python3_EXECUTABLE} -m pytest -q -rs -p no:cacheprovider ${file}
              --junitxml=${CMAKE_BINARY_DIR}/pytest-results/${case}.xml
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    set_tests_properties(${case} PROPERTIES
      SKIP_RETURN_CODE 5  # pytest: no case was collected
      LABELS "python;${ARGN}"
      COST 10  # Whole files go first, so that a long one is not what the last core ends with.
      ENVIRONMENT "SLUICE_BIN=$<TARGET_FILE:sluice>;SLUICE_SANITIZE=${SLUICE_SANITIZE};PYTHONPATH=${CMAKE_BINARY_DIR}/python;PYTHONDONTWRITEBYTECODE=1")
  endforeach()
endfunction()
