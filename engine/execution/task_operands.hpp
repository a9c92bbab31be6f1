// Typed addresses of a bound task's tensors, for backends.
#pragma once

#include <cstdint>

#include "engine/execution/device.hpp"
#include "engine/optimizer/adamw.hpp"

namespace sluice::engine {

template <class T>
[[nodiscard]] T* as(const BoundAccess& access) {
  return reinterpret_cast<T*>(access.data);
}

/// Number of fp32 elements in the bytes of an access.
[[nodiscard]] inline std::int64_t floats(const BoundAccess& access) {
  return access.bytes.count() / 4;
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
