#include "engine/datasets/halved_ids.hpp"

#include <algorithm>

namespace sluice::engine {
namespace {

/// Largest upper half of an id: vocabularies have fewer than 4 * 65,536 tokens.
constexpr std::int64_t kLargestHalf = 3;

}  // namespace

void HalvedIds::add(std::span<const std::int64_t> ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % 2 == 0) {
      larger_firsts_ += ids[i] > kLargestHalf ? 1 : 0;
    } else {
      ++seconds_;
      largest_second_ = std::max(largest_second_, ids[i]);
    }
  }
}

bool HalvedIds::found() const {
  constexpr std::int64_t kFewest = 8;
  return seconds_ >= kFewest && largest_second_ <= kLargestHalf && larger_firsts_ * 2 > seconds_;
}

}  // namespace sluice::engine
