// How sure a predicted period is, and what the prediction rests on.
#pragma once

#include <vector>

#include "planner/costs/cost_model.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/machines/machine.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// One cost's part of the critical path within the period.
struct CriticalCost {
  CostKey key;
  LaneKind lane;
  Seconds time{0};
  Evidence evidence = Evidence::measured;
  double relative_deviation = 0;
  bool errs_alone = false;  ///< TaskCost.
};

/// The chain of tasks that enabled one another back from the end of the period to its start, summed
/// by cost key. Tasks that enabled each other cover the period without gaps.
[[nodiscard]] std::vector<CriticalCost> critical_costs(const StepGraph& graph,
                                                       const sim::Timeline& timeline,
                                                       const CostModel& costs);

/// Standard deviation of the period. Errors of one cost go together, and so do those of all costs
/// of one lane that rest on the same uncalibrated facts (a datasheet that is off is off for every
/// task); those that err alone are independent. With t the time on the critical path and d the
/// relative deviation:
///   variance = S over keys that err alone (t d)^2 + S over lanes (S over other keys t d)^2
///              + S over lanes (r(lane) x S over its keys t)^2 + (kModelDeviation x period)^2
/// r: run_deviation() on the machine of `profile`. First order: the critical path is taken to stay
/// where it is.
[[nodiscard]] Seconds period_deviation(const std::vector<CriticalCost>& costs, Seconds period,
                                       const MachineProfile& profile);

/// By how much one cost differs from run to run, beyond what its tasks differ by within a run: all
/// costs of a lane together, for one clock, one host and its neighbours are behind them. Half of
/// what was seen of updates, passes and copies in 127 runs on three H200 hosts
/// (history: 2026-11-23-prediction-study-even) since probes survey memory. Updates on
/// the CPU: at least so, and 0.7 of what the probe saw rates differ by from round to round, which
/// tells a busy host (history: 2026-11-26-prediction-study-family, replayed.output: how
/// many runs of nine blind studies lie inside).
[[nodiscard]] double run_deviation(const MachineProfile& profile, LaneKind lane);

/// What simulation errs by with every cost known: hand-offs, wake-ups.
inline constexpr double kModelDeviation = 0.0075;
/// Standard deviations of a 90 % interval of a normal distribution.
inline constexpr double kInterval90 = 1.645;

}  // namespace sluice::planner
