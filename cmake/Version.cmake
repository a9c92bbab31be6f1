# Writes version.cpp at every build, and only where the commit changed, so that what the ledger
# records is what was built. Run as a script (-P) by the target sluice_commit.
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git rev-parse --short=12 HEAD WORKING_DIRECTORY ${SOURCE}
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed
                  ERROR_QUIET)
  if(failed)
    set(commit unknown)
  else()
    execute_process(COMMAND git diff --quiet HEAD WORKING_DIRECTORY ${SOURCE}
                    RESULT_VARIABLE differs ERROR_QUIET)
    if(differs)
      string(APPEND commit +)
    endif()
  endif()
  file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "sim/version.hpp"

namespace sluice {
std::string_view version() { return "@VERSION@"; }
std::string_view commit() { return "@commit@"; }
}  // namespace sluice
]] @ONLY)
  return()
endif()

set(version_source ${CMAKE_BINARY_DIR}/version/version.cpp)
add_custom_target(sluice_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${version_source}
          -DVERSION=${PROJECT_VERSION} -P ${CMAKE_SOURCE_DIR}/cmake/Version.cmake
  BYPRODUCTS ${version_source}
  COMMENT "Noting the commit")
add_library(sluice_version STATIC ${version_source})
target_include_directories(sluice_version PUBLIC ${CMAKE_SOURCE_DIR})
add_dependencies(sluice_version sluice_commit)
