#include "cli/shown/length_histogram.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "profiler/training/length_bins.hpp"

namespace sluice::cli {

std::string length_histogram(std::span<const std::int64_t> lengths) {
  constexpr std::int64_t kWidth = 40;
  std::string text;
  const std::vector<profiler::LengthBin> bins = profiler::length_bins(lengths);
  std::int64_t most = 1;
  for (const profiler::LengthBin& bin : bins) most = std::max(most, bin.documents);
  for (const profiler::LengthBin& bin : bins) {
    const std::int64_t width = (bin.documents * kWidth + most - 1) / most;
    const std::string range =
        bin.from >= bin.to ? std::to_string(bin.to) : fmt::format("{}-{}", bin.from, bin.to);
    text +=
        fmt::format("  {:>17}  {:<{}} {}\n", range, std::string(width, '#'), kWidth, bin.documents);
  }
  return text;
}

}  // namespace sluice::cli
