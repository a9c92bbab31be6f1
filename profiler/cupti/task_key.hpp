// Number that stands for a task of a run, so that a profiler can carry it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "sim/error.hpp"

namespace sluice::profiler::cupti {

/// A task in one step of a run: `task` is its number among the tasks of a step, `step` counts from
/// 1.
struct TaskKey {
  std::int64_t step = 1;
  std::uint32_t task = 0;
  friend auto operator<=>(const TaskKey&, const TaskKey&) = default;
};

/// Number that stands for a task in CUPTI's external correlation ids; never zero.
using ExternalId = std::uint64_t;

inline constexpr unsigned kTaskBits = 20;
inline constexpr std::uint64_t kMostTasks = std::uint64_t{1} << kTaskBits;

/// The external id of a task: step x 2^20 + task. Steps must have fewer than 2^20 tasks.
[[nodiscard]] inline ExternalId external_id(TaskKey key) {
  check(key.step >= 1 && key.task < kMostTasks, "a task of a step from 1 fits an external id");
  return (static_cast<ExternalId>(key.step) << kTaskBits) | key.task;
}

/// The task whose external id is `id`; none for a number that no task has.
[[nodiscard]] inline std::optional<TaskKey> task_of(ExternalId id) {
  const auto step = static_cast<std::int64_t>(id >> kTaskBits);
  if (step < 1) return std::nullopt;
  return TaskKey{step, static_cast<std::uint32_t>(id & (kMostTasks - 1))};
}

}  // namespace sluice::profiler::cupti
