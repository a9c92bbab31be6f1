// Time that the tasks of each cost key take in the steps of a measured run.
#pragma once

#include <map>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// Time and number of the tasks of one cost key (planner/costs/cost_key.hpp) in a step.
struct KeyTime {
  double seconds = 0;
  std::size_t tasks = 0;
};
using KeyTimes = std::map<planner::CostKey, KeyTime>;

/// Sums of `times`, one for each task of a step, by the tasks' cost keys.
[[nodiscard]] KeyTimes by_key(const planner::StepGraph& graph, const std::vector<Seconds>& times);

struct MeasuredKeys {
  /// Seconds of all tasks of each key together, for each measured step.
  std::map<planner::CostKey, std::vector<double>> steps;
  std::map<planner::CostKey, std::size_t> tasks;  ///< Number of tasks of each key in a step.
  /// Keys of copies so short that waking up dominates them (true for these). They tell nothing of
  /// the link, and costs of other sizes are interpolated between calibrated ones, so the profile's
  /// latency stands for them.
  std::map<planner::CostKey, bool> short_copy;
  /// The clock that timed the tasks of each key.
  std::map<planner::CostKey, sim::SpanSource> source;
  /// Seconds of each task of a GPU's copy during which neither the other direction nor the CPU
  /// optimizer ran (for over a fiftieth of it): its time alone, without a model. No entry for a key
  /// without such a task.
  std::map<planner::CostKey, std::vector<double>> alone;
  /// Seconds from the end of a GPU's copy to the start of the next one of its lane, by lane: one
  /// number for each pair where all that the latter waits for had ended long before, and the CPU
  /// was not late.
  std::map<planner::LaneKind, std::vector<double>> hand_offs;
  /// Seconds that the fastest tenth of a key's tasks take at most.
  std::map<planner::CostKey, double> quickest;
};

/// Times of all cost keys over every step of `run` but the first and the last. The time of a
/// compute task includes its hand-off (StepTemplate::occupancy), and so does that of a GPU's copy
/// that follows another. A paced copy's own time is set, and a wait for a core before it starts
/// belongs to whatever kept the core. Tasks that took far longer than the others of their key were
/// preempted: they count as four deviations above the median, so that a lost timeslice does not
/// dominate a task of microseconds.
[[nodiscard]] MeasuredKeys measured_keys(const planner::StepGraph& graph,
                                         const planner::MachineProfile& profile,
                                         const MeasuredRun& run);

}  // namespace sluice::profiler
