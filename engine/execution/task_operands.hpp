// Typed addresses of a bound task's tensors, for backends.
#pragma once

#include <cstdint>
#include <span>

#include "engine/execution/device.hpp"
#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/small_moments.hpp"
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

/// The ranges of the ranks among which `task` is, of which `access` is that of the rank that runs
/// it.
[[nodiscard]] inline RankRuns runs_of(const BoundTask& task, const BoundAccess& access) {
  const Members& members = task.members;
  // Ranges of hosts are counted by the host's number, which is the member's index.
  const std::int64_t step = access.among == planner::Among::hosts ? 1 : members.step;
  const std::int64_t stride = access.rank_stride.count() * step;
  return {access.data - members.index_of(task.rank) * stride,
          static_cast<std::size_t>(access.bytes.count()), static_cast<std::size_t>(stride)};
}

/// The sums that the other ranks sent of `own`, one of the ranges of an exchange or of its sum,
/// whose number among them is `number`.
[[nodiscard]] inline std::span<std::byte> received_of(const BoundTask& task, const BoundAccess& own,
                                                      std::size_t number) {
  const BoundAccess& received = task.access(planner::Role::received);
  const std::size_t bytes = static_cast<std::size_t>(own.bytes.count()) *
                            static_cast<std::size_t>(task.members.count - 1);
  return std::span(received.data, static_cast<std::size_t>(received.bytes.count()))
      .subspan(number * bytes, bytes);
}

/// Addresses of what an update task reads and writes: both halves of the weights, both moments, and
/// the gradient, whose elements have the type `wire`. Moments are read as fp32, as which they are
/// valid with fp32 state alone.
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

/// The moments of an update task where they have fewer than 32 bits.
[[nodiscard]] inline SmallMoments small_moments(const BoundTask& task, planner::StateType type) {
  return {.type = type,
          .m = task.access(planner::Role::moment1).data,
          .v = task.access(planner::Role::moment2).data,
          .elements = task.parameters,
          .unit = task.unit};
}

/// Updates on the threads of `pool` what an update task names, of a unit with these spans.
inline void update_on_cpu(const BoundTask& task, const planner::Job& job,
                          std::span<const AdamWSpan> spans, const AdamWStep& step,
                          ThreadPool& pool) {
  const AdamWOperands operands = adamw_operands(task, job.gradient_wire);
  const planner::StateType type = job.optimizer.state;
  if (type == planner::StateType::fp32) {
    return adamw_update(operands, spans, step, pool, pool.threads(),
                        {task.first_parameter, task.parameters});
  }
  adamw_update(operands, small_moments(task, type), spans, step, pool, pool.threads(),
               task.first_parameter);
}

}  // namespace sluice::engine
