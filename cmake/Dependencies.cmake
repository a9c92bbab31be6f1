# Libraries found on the system; scripts/packages.txt names their Debian packages.

find_package(Threads REQUIRED)
find_package(Boost 1.74 REQUIRED)  # Boost.Graph, headers only
find_package(nlohmann_json 3.10 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)  # SHA-256; shared, as the other libraries are.
if(SLUICE_ENGINE)
  find_package(OpenBLAS REQUIRED)
  find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
  find_library(ZSTD_LIBRARY zstd REQUIRED)
  find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)  # Header only.
  # Without liburing threads read and write the disk.
  find_path(URING_INCLUDE_DIR liburing.h)
  find_library(URING_LIBRARY uring)
  if(URING_INCLUDE_DIR AND URING_LIBRARY)
    set(SLUICE_URING ON)
  endif()
  # Without Gloo the ranks of a run are threads of one process.
  find_path(GLOO_INCLUDE_DIR gloo/rendezvous/context.h)
  find_library(GLOO_LIBRARY gloo)
  if(GLOO_INCLUDE_DIR AND GLOO_LIBRARY)
    set(SLUICE_GLOO ON)
  else()
    message(STATUS "Gloo is missing (libgloo-dev): ranks are threads of one process, not processes")
  endif()
endif()
if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
  # The private environment of scripts/test where there is one, else the system's Python, whose
  # Debian packages the tests use; never a version manager's shim.
  if(NOT Python3_EXECUTABLE)
    find_program(Python3_EXECUTABLE NAMES python3 PATHS ${CMAKE_SOURCE_DIR}/.venv/bin /usr/bin
                 NO_DEFAULT_PATH)
  endif()
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
endif()
