// Uncertainty of a predicted period, and the costs on which it rests.
#pragma once

#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/machines/machine.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// The part of the critical path within the period that tasks of one cost key take.
struct CriticalCost {
  CostKey key;
  LaneKind lane{};
  Seconds time{0};
  Evidence evidence = Evidence::measured;
  double relative_deviation = 0;
  /// Whether the error of the cost is independent of those of other costs (TaskCost::errs_alone).
  bool errs_alone = false;
  /// Time that the tasks on the path would take alone; `time` is more where other lanes slow them,
  /// and less after rest (boost).
  Seconds alone{0};
  Seconds each{0};       ///< Time that one of the tasks takes alone.
  std::size_t task = 0;  ///< Index of one of the tasks in the graph.
};

/// Costs on the critical path, one entry a cost key: the path goes from the end of the period back
/// to its start, through the chain of tasks each of which let the next start. The entries' times
/// sum to the period; they are means over the steps of a longer one.
[[nodiscard]] std::vector<CriticalCost> critical_costs(const StepGraph& graph,
                                                       const sim::Timeline& timeline,
                                                       const CostModel& costs);

/// Standard deviation of the period. Errors of one cost go together, and so do those of all costs
/// of one lane that rest on the same uncalibrated facts (a datasheet that is off is off for every
/// task); those that err alone are independent. With t the time on the critical path, d the
/// relative deviation and S a sum:
///
///   variance = S over keys that err alone (t d)^2 + S over lanes (S over other keys t d)^2
///              + S over lanes (S over its keys t) (S over its keys r^2 t)
///              + period x S over keys (m^2 t)
///
/// r: run_deviation() of the key's lane on the machine of `profile`; m: its model_deviation().
/// First order: the critical path is taken to stay where it is.
[[nodiscard]] Seconds period_deviation(const std::vector<CriticalCost>& costs, Seconds period,
                                       const MachineProfile& profile);

/// Standard deviation, between runs, of all costs of a lane together, relative to them; it comes on
/// top of what tasks differ by within a run and has one cause: the device's clock, the host and its
/// neighbours. Source: half of what updates, passes and copies showed in 127 runs on three H200
/// hosts (history: 2026-11-23-prediction-study-even). For updates on the CPU it is at least 0.7 of
/// the deviation that the probe saw between its repetitions, which tells a busy host (history:
/// 2026-11-26-prediction-study-family, replayed.output). Where nothing was learnt from runs
/// (`learnt` is false), a quarter of an hour and more lies between what was measured and the run,
/// in which a shared host's memory changes more: twice as much
/// (experiments/results/current/unseen-jobs).
[[nodiscard]] double run_deviation(const MachineProfile& profile, LaneKind lane, bool learnt);

/// Standard deviation of the simulated period, relative to it, if all its time were of costs like
/// `cost` and they were known exactly: hand-offs between threads and their wake-ups are not
/// simulated. It is larger for a cost that was not measured in runs of the same task: what the task
/// finds in a step differs from what the cost rests on (48 jobs on machines just met,
/// experiments/results/current/unseen-jobs-again).
[[nodiscard]] double model_deviation(const CriticalCost& cost);

/// Half the width of a 90 % interval of a normal distribution, in standard deviations.
inline constexpr double kInterval90 = 1.645;

}  // namespace sluice::planner
