// Shared by all fuzz harnesses: input as a reader takes it, and the ways in which a reader may end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/error.hpp"

namespace sluice::fuzz {

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Runs `read`, which may refuse its input as the program would, in one line; any other exception
/// ends the process, and the fuzzer keeps the input.
template <class Read>
void may_refuse(const Read& read) {
  try {
    read();
  } catch (const BadRequest& error) {
    check(error.what()[0] != '\0', "a refusal says why");
  }
}

}  // namespace sluice::fuzz
