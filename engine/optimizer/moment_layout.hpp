// How the stored moments of a unit, or of a part of one, lie in memory and on the disk: one number
// for each element and, in int8, behind the numbers of whole blocks a scale for each block.
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"

namespace sluice::engine {

/// Bytes of one number, and how many elements share it.
struct PlaneSize {
  std::int64_t bytes, elements;
  /// Bytes of the numbers before that of element `count`, where it is the first of those that share
  /// one.
  [[nodiscard]] constexpr std::int64_t before(std::int64_t count) const {
    return count / elements * bytes;
  }
  /// Bytes of the numbers of the first `count` elements.
  [[nodiscard]] constexpr std::int64_t of(std::int64_t count) const {
    return (count + elements - 1) / elements * bytes;
  }
};
/// A code of a moment; for fp32 and bf16 the moment itself.
[[nodiscard]] constexpr PlaneSize moment_code_size(planner::StateType type) {
  if (type == planner::StateType::fp32) return {4, 1};
  return {type == planner::StateType::int8 ? 1 : 2, 1};
}
inline constexpr PlaneSize kMomentScaleSize{4, planner::kMomentBlock};
/// Offset of the scales behind the codes of `elements` elements, which fill whole blocks.
[[nodiscard]] constexpr std::int64_t scales_behind(std::int64_t elements) {
  constexpr std::int64_t kBlock = planner::kMomentBlock;
  return (elements + kBlock - 1) / kBlock * kBlock;
}
/// Bytes of m, or of v, of `elements` elements.
[[nodiscard]] constexpr std::int64_t moment_bytes(planner::StateType type, std::int64_t elements) {
  if (type != planner::StateType::int8) return moment_code_size(type).of(elements);
  return scales_behind(elements) + kMomentScaleSize.of(elements);
}

}  // namespace sluice::engine
