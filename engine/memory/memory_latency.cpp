#include "engine/memory/memory_latency.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <numeric>

namespace sluice::engine {
namespace {

constexpr double kLeastRatio = 1.3, kLeastShare = 0.05;

struct Split {
  std::size_t quick = 0;  ///< Number of quick ones among the sorted latencies.
  double quick_mean = 0, slow_mean = 0;
};

/// The split of sorted latencies with the largest sum of squares between the groups.
Split best_split(std::span<const double> sorted) {
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  const auto count = static_cast<double>(sorted.size());
  Split best;
  double most = -1, sum = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    sum += sorted[i - 1];
    const auto quick = static_cast<double>(i);
    const double quick_mean = sum / quick, slow_mean = (total - sum) / (count - quick);
    const double between =
        quick * (count - quick) * (slow_mean - quick_mean) * (slow_mean - quick_mean);
    if (between <= most) continue;
    most = between;
    best = {i, quick_mean, slow_mean};
  }
  return best;
}

}  // namespace

Seconds load_latency(std::span<const std::byte> memory) {
  constexpr int kBatches = 16, kLoads = 64;
  constexpr std::size_t kLine = 64;
  const std::size_t lines = std::bit_floor(memory.size() / kLine);
  if (lines == 0) return Seconds(0);
  std::array<double, kBatches> times{};
  std::uint64_t state = 0x9e3779b97f4a7c15U;
  for (double& time : times) {
    const auto start = std::chrono::steady_clock::now();
    for (int load = 0; load < kLoads; ++load) {
      // The next address needs the byte that was loaded; xorshift spreads addresses over all lines.
      state ^= state << 13U;
      state ^= state >> 7U;
      state ^= state << 17U;
      const std::size_t line = (state >> 20U) & (lines - 1);
      state += std::to_integer<std::uint64_t>(
          *static_cast<const volatile std::byte*>(memory.data() + line * kLine));
    }
    time = Seconds(std::chrono::steady_clock::now() - start).count() / kLoads;
  }
  std::ranges::nth_element(times, times.begin() + kBatches / 2);
  return Seconds(times[kBatches / 2]);
}

std::optional<MemoryKinds> kinds_of(std::span<const Seconds> latencies) {
  if (latencies.size() < 2) return std::nullopt;
  std::vector<double> sorted;
  sorted.reserve(latencies.size());
  for (const Seconds latency : latencies) sorted.push_back(latency.count());
  std::ranges::sort(sorted);
  const Split split = best_split(sorted);
  const auto count = static_cast<double>(sorted.size());
  const double slow_share = 1 - static_cast<double>(split.quick) / count;
  if (split.slow_mean < kLeastRatio * split.quick_mean) return std::nullopt;
  if (std::min(slow_share, 1 - slow_share) < kLeastShare) return std::nullopt;
  MemoryKinds kinds{Seconds(split.quick_mean), Seconds(split.slow_mean), slow_share, {}};
  kinds.is_slow.reserve(latencies.size());
  for (const Seconds latency : latencies) {
    kinds.is_slow.push_back(latency.count() > sorted[split.quick - 1]);
  }
  return kinds;
}

std::vector<std::size_t> even_order(const std::vector<bool>& is_slow) {
  std::array<std::vector<std::size_t>, 2> pieces;
  for (std::size_t i = 0; i < is_slow.size(); ++i) pieces[is_slow[i] ? 1 : 0].push_back(i);
  const std::size_t slow = pieces[1].size();
  std::vector<std::size_t> order;
  order.reserve(is_slow.size());
  std::array<std::size_t, 2> taken{};
  for (std::size_t place = 0; place < is_slow.size(); ++place) {
    // The slow pieces due up to here, by their overall share, rounded to the nearest.
    const std::size_t due = ((place + 1) * slow + is_slow.size() / 2) / is_slow.size();
    const std::size_t kind = due > taken[1] ? 1 : 0;
    order.push_back(pieces[kind][taken[kind]++]);
  }
  return order;
}

}  // namespace sluice::engine
