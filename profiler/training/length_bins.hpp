// Numbers of documents by their lengths.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sluice::profiler {

/// Number of documents of `from` to `to` tokens, both included.
struct LengthBin {
  std::int64_t from = 0, to = 0, documents = 0;
  friend bool operator==(const LengthBin&, const LengthBin&) = default;
};

/// Bins whose bounds double (1, 2 to 3, 4 to 7, ...), from that of the shortest document to that of
/// the longest; documents without a token lie in a bin of their own.
[[nodiscard]] std::vector<LengthBin> length_bins(std::span<const std::int64_t> lengths);

}  // namespace sluice::profiler
