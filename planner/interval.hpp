// How sure a predicted period is, and what the prediction rests on.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/cost_model.hpp"
#include "planner/step_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// One cost's part of the critical path within the period.
struct CriticalCost {
  CostKey key;
  LaneKind lane;
  Seconds time{0};
  Evidence evidence = Evidence::measured;
  double relative_deviation = 0;
};

/// The chain of tasks that enabled one another back from the end of the period to its start, summed
/// by cost key. Tasks that enabled each other cover the period without gaps.
[[nodiscard]] std::vector<CriticalCost> critical_costs(const StepGraph& graph,
                                                       const sim::Timeline& timeline,
                                                       const CostModel& costs);

/// Over how many runs, minutes apart, costs were learnt, and over how many the time is that is
/// predicted: what differs from run to run evens out over them.
struct AveragedRuns {
  std::int64_t taught = 1, judged = 1;
};

/// Standard deviation of the period. Errors of one cost go together, and so do those of all costs
/// of one lane that rest on the same uncalibrated facts (a datasheet that is off is off for every
/// task); otherwise they are independent. With t the time on the critical path and d the relative
/// deviation:
///   variance = S over calibrated keys (t d)^2 + S over lanes (S over other keys t d)^2
///              + S over lanes (r(lane) x S over its keys t)^2 + (kModelDeviation x period)^2
/// r: run_deviation() x sqrt((1 / taught + 1 / judged) / 2). First order: the critical path is
/// taken to stay where it is.
[[nodiscard]] Seconds period_deviation(const std::vector<CriticalCost>& costs, Seconds period,
                                       AveragedRuns runs = {});

/// By how much one cost differs from one run to another, beyond what its tasks differ by within a
/// run: all costs of a lane together, for one clock, one host and its neighbours are behind them.
/// Half of what was seen of updates, passes and copies in 127 runs on three H200 hosts
/// (experiments/results/2026-11-23-prediction-study-even) since probes survey memory: with these,
/// 88 to 90 % of the runs of three blind studies lie inside, each on a host of its own
/// (experiments/results/2026-11-26-prediction-study-narrow).
[[nodiscard]] constexpr double run_deviation(LaneKind lane) {
  switch (lane) {
    case LaneKind::cpu:
      return 0.035;
    case LaneKind::h2d:
    case LaneKind::d2h:
    case LaneKind::disk_read:
    case LaneKind::disk_write:
      return 0.015;
    case LaneKind::compute:
    case LaneKind::launch:
      break;
  }
  return 0.01;
}

/// What simulation errs by with every cost known: hand-offs, wake-ups.
inline constexpr double kModelDeviation = 0.0075;
/// Standard deviations of a 90 % interval of a normal distribution.
inline constexpr double kInterval90 = 1.645;

}  // namespace sluice::planner
