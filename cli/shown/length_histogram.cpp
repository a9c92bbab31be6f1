#include "cli/shown/length_histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace sluice::cli {

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

std::string length_histogram(std::span<const std::int64_t> lengths) {
  constexpr std::int64_t kWidth = 40;
  std::string text;
  const std::vector<LengthBin> bins = length_bins(lengths);
  std::int64_t most = 1;
  for (const LengthBin& bin : bins) most = std::max(most, bin.documents);
  for (const LengthBin& bin : bins) {
    const std::int64_t width = (bin.documents * kWidth + most - 1) / most;
    const std::string range =
        bin.from >= bin.to ? std::to_string(bin.to) : fmt::format("{}-{}", bin.from, bin.to);
    text +=
        fmt::format("  {:>17}  {:<{}} {}\n", range, std::string(width, '#'), kWidth, bin.documents);
  }
  return text;
}

}  // namespace sluice::cli
