// Header of NumPy's .npy files (numpy.lib.format, versions 1 to 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::engine {

struct NpyHeader {
  std::string type;  ///< NumPy's name for the type of the values, such as "<i4".
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 0;  ///< Length of the header in bytes: where the values begin.
};

/// Reads the header at the beginning of `file`, the bytes of a .npy file. Throws BadRequest `WHERE:
/// ...` if there is none, or the values are not numbers, such as records.
[[nodiscard]] NpyHeader read_npy_header(std::span<const std::byte> file, const std::string& where);

}  // namespace sluice::engine
