// Fit of interference: how much each lane slows another, from tasks overlapped to different
// extents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// A fitted interference factor: while a task of lane `from` runs, tasks of lane `on` run at
/// `factor` times their rate.
struct LaneFactor {
  planner::LaneKind on;
  planner::LaneKind from;
  double factor = 1;
  double deviation = 0;
  std::int64_t count = 0;  ///< Number of tasks of `on` that were fitted to.
  struct Delay {
    double seconds, deviation;
  };
  /// Delay of each kernel's start beside the factor (planner/costs/launch_delay.hpp), for copies of
  /// a GPU on its compute lane.
  std::optional<Delay> launch_delay = std::nullopt;
};

/// One task of lane `on`: the group of tasks comparable with it, its duration, and the share of
/// that time during which each other lane ran.
struct OverlappedTask {
  /// Number of the group: tasks of one group would take equal time if they ran alone.
  std::size_t group;
  double seconds;
  std::vector<double> share;  ///< Share of the time during which each lane `from` ran, 0 to 1.
};

/// Share of `span` during which `spans` (sorted, disjoint) run, 0 to 1.
[[nodiscard]] double overlapped_share(const Recorder::Span& span,
                                      const std::vector<Recorder::Span>& spans);
/// Spans of one lane's tasks over all steps of a run, in order of time.
[[nodiscard]] std::vector<Recorder::Span> lane_spans(const planner::StepGraph& graph,
                                                     const MeasuredRun& run,
                                                     planner::LaneKind lane);

struct FactorEstimate {
  double factor;
  double deviation;
};

/// Fits factors of the model seconds = base[group] / prod_l (1 - (1 - factor_l) x share_l) with
/// multiplicative noise. Least squares in logarithms by Gauss-Newton, with groups as fixed effects
/// and each factor held to its prior by the prior's deviation. A lane whose share hardly varies
/// within groups keeps its prior, since nothing tells its effect from the base. Factors stay within
/// [0.3, 1].
[[nodiscard]] std::vector<FactorEstimate> fit_factors(const std::vector<OverlappedTask>& tasks,
                                                      const std::vector<FactorEstimate>& priors);

/// A measured run and its graph, which must both outlive it.
struct TimedRun {
  const planner::StepGraph& graph;
  const MeasuredRun& run;
};

/// Fits interference factors on the compute and cpu lanes to all `runs`; `priors` names the pairs
/// to fit. Tasks shorter than a quarter of a millisecond are left out, since hand-offs dominate
/// them. Tasks sped up by rest count with their sustained time, by `boost` and the shares of
/// `profile`.
[[nodiscard]] std::vector<LaneFactor> fit_interference(
    const std::vector<TimedRun>& runs, const std::vector<LaneFactor>& priors,
    const planner::MachineProfile& profile,
    const std::optional<planner::CostModel::LaneBoost>& boost);

}  // namespace sluice::profiler
