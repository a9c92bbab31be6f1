// The text of prelude.py, which CMake compiles into the program.
#pragma once

#include <string_view>

namespace sluice::engine {

extern const std::string_view kPrelude;

}  // namespace sluice::engine
