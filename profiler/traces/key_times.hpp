// What each cost key took of the steps of a measured run.
#pragma once

#include <map>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// What one key takes of a step.
struct KeyTime {
  double seconds = 0;
  std::size_t tasks = 0;
};
using KeyTimes = std::map<planner::CostKey, KeyTime>;

/// Adds up one number a task of the step.
[[nodiscard]] KeyTimes by_key(const planner::StepGraph& graph, const std::vector<Seconds>& times);

struct MeasuredKeys {
  std::map<planner::CostKey, std::vector<double>> steps;  ///< Seconds, each measured step's own.
  std::map<planner::CostKey, std::size_t> tasks;          ///< A step.
  /// Copies so short that waking up rules them: they say nothing of the link, and costs of other
  /// sizes are read off the calibrated ones, so the profile's latency stands for them.
  std::map<planner::CostKey, bool> short_copy;
  std::map<planner::CostKey, sim::SpanSource> source;  ///< How its tasks were timed.
  /// Seconds of each task of a GPU's copy during which neither the other direction nor the CPU
  /// optimizer ran: what it takes alone, with nothing to infer. No entry where there was none.
  std::map<planner::CostKey, std::vector<double>> alone;
  /// Seconds from the end of a GPU's copy to the start of the next one of its lane, where all that
  /// it waits for had ended long before. By the later one's direction.
  std::map<planner::LaneKind, std::vector<double>> hand_offs;
  /// Seconds of the quickest tenth of a key's tasks.
  std::map<planner::CostKey, double> quickest;
};

/// Of every step but the first and the last. A compute task answers for its hand-off
/// (StepTemplate::occupancy), and so does a GPU's copy where it follows another; a paced copy's own
/// time is set, and what its thread waits for a core before it starts belongs to whatever kept the
/// core. Tasks that took far longer than the others of their key were preempted: they count as four
/// deviations above the median, so that a task of microseconds is not known by a lost timeslice.
[[nodiscard]] MeasuredKeys measured_keys(const planner::StepGraph& graph,
                                         const planner::MachineProfile& profile,
                                         const MeasuredRun& run);

}  // namespace sluice::profiler
