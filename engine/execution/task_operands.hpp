// Typed addresses of a bound task's tensors, for backends.
#pragma once

#include <cstdint>

#include "engine/execution/device.hpp"
#include "engine/optimizer/adamw.hpp"
#include "engine/ranks/fabric.hpp"

namespace sluice::engine {

template <class T>
[[nodiscard]] T* as(const BoundAccess& access) {
  return reinterpret_cast<T*>(access.data);
}

/// Number of fp32 elements in the bytes of an access.
[[nodiscard]] inline std::int64_t floats(const BoundAccess& access) {
  return access.bytes.count() / 4;
}

/// The ranges of all ranks, of which `access` is that of the rank that runs `task`.
[[nodiscard]] inline RankRuns runs_of(const BoundTask& task, const BoundAccess& access) {
  const auto stride = static_cast<std::size_t>(access.rank_stride.count());
  return {access.data - static_cast<std::size_t>(task.rank) * stride,
          static_cast<std::size_t>(access.bytes.count()), stride};
}

/// Addresses of what an update task reads and writes: both halves of the weights, both moments, and
/// the gradient, whose elements have the type `wire`.
[[nodiscard]] inline AdamWOperands adamw_operands(const BoundTask& task,
                                                  planner::GradientWire wire) {
  return {
      .high = as<std::uint16_t>(task.access(planner::Role::weights)),
      .low = as<std::uint16_t>(task.access(planner::Role::low)),
      .m = as<float>(task.access(planner::Role::moment1)),
      .v = as<float>(task.access(planner::Role::moment2)),
      .gradient = task.access(planner::Role::gradient).data,
      .wire = wire,
  };
}

}  // namespace sluice::engine
