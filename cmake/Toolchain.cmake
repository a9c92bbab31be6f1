# Warnings, sanitizers, compiler cache and linker.

add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic>")
# One expression must round the same way in every file and on every device: products and sums are
# fused only where the source says std::fma.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>")
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlap in std::string's own operator+ (its bug 105651), and moves of Boost's
  # small_vector read past its inline elements.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overread>")
endif()
if(SLUICE_WERROR)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Werror>")
endif()

if(SLUICE_SANITIZE)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${SLUICE_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  add_link_options(-fsanitize=${SLUICE_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # Under a sanitizer GCC takes std::regex's own members for uninitialized (its bug 105562).
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized>")
  endif()
endif()

find_program(SLUICE_CCACHE ccache)
if(SLUICE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${SLUICE_CCACHE})
endif()

# mold, then lld: either links several times faster than the default.
find_program(SLUICE_MOLD mold)
find_program(SLUICE_LLD ld.lld)
if(SLUICE_MOLD)
  add_link_options("$<$<LINK_LANGUAGE:CXX>:-fuse-ld=mold>")
elseif(SLUICE_LLD)
  add_link_options("$<$<LINK_LANGUAGE:CXX>:-fuse-ld=lld>")
endif()
