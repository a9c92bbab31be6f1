#include "engine/host/rank_tree.hpp"

#include <algorithm>
#include <array>

#include "planner/models/group_tree.hpp"

namespace sluice::engine {
namespace {

/// Elements that are added at a time, so that what lies between is in the first cache.
constexpr std::int64_t kTreeBlock = 1024;

}  // namespace

void RankTree::sum(std::int64_t elements, float* to) const {
  std::array<float, kTreeBlock> sum;
  for (std::int64_t first = 0; first < elements; first += kTreeBlock) {
    const std::int64_t count = std::min(kTreeBlock, elements - first);
    part(0, ranks_, first, count, sum.data());
    std::copy_n(sum.data(), count, to + first);
  }
}

void RankTree::part(int low, int high, std::int64_t first, std::int64_t count, float* to) const {
  if (high - low == 1) {
    std::copy_n(of_rank_(low) + first, count, to);
    return;
  }
  const int middle = low + static_cast<int>(planner::left_of_tree(high - low));
  std::array<float, kTreeBlock> right;
  part(low, middle, first, count, to);
  part(middle, high, first, count, right.data());
  for (std::int64_t i = 0; i < count; ++i) to[i] += right[static_cast<std::size_t>(i)];
}

}  // namespace sluice::engine
