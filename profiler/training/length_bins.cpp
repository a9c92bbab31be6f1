#include "profiler/training/length_bins.hpp"

#include <algorithm>
#include <bit>

namespace sluice::profiler {

std::vector<LengthBin> length_bins(std::span<const std::int64_t> lengths) {
  if (lengths.empty()) return {};
  const auto bin_of = [](std::int64_t length) {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(length)));
  };
  const auto [shortest, longest] = std::ranges::minmax(lengths);
  const std::size_t first = bin_of(shortest);
  std::vector<LengthBin> bins;
  for (std::size_t bin = first; bin <= bin_of(longest); ++bin) {
    const std::int64_t to = (std::int64_t{1} << bin) - 1;
    bins.push_back({.from = (to + 1) / 2, .to = to});
  }
  for (const std::int64_t length : lengths) ++bins[bin_of(length) - first].documents;
  return bins;
}

}  // namespace sluice::profiler
