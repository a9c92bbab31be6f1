// How much each lane slows another, from tasks that were overlapped to different extents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// While a task of lane `from` runs, tasks of lane `on` run `factor` times as fast.
struct LaneFactor {
  planner::LaneKind on;
  planner::LaneKind from;
  double factor = 1;
  double deviation = 0;
  std::int64_t count = 0;  ///< Tasks of `on` that were looked at.
  struct Delay {
    double seconds, deviation;
  };
  /// Beside the factor: how much longer each kernel takes to start
  /// (planner/costs/launch_delay.hpp). Of a GPU's copies on its compute lane.
  std::optional<Delay> launch_delay = std::nullopt;
};

/// One task of lane `on`: which tasks it may be compared with, how long it took, and the share of
/// that time during which each lane ran.
struct OverlappedTask {
  std::size_t group;  ///< Tasks of one group would take one time if they ran alone.
  double seconds;
  std::vector<double> share;  ///< By lane `from`, each 0 .. 1.
};

/// The share of `span` during which `spans` (sorted, disjoint) run, 0 .. 1.
[[nodiscard]] double overlapped_share(const Recorder::Span& span,
                                      const std::vector<Recorder::Span>& spans);
/// What ran on one lane in all steps of a run, in order of time.
[[nodiscard]] std::vector<Recorder::Span> lane_spans(const planner::StepGraph& graph,
                                                     const MeasuredRun& run,
                                                     planner::LaneKind lane);

struct FactorEstimate {
  double factor;
  double deviation;
};

/// Model: seconds = base[group] / prod_l (1 - (1 - factor_l) x share_l), noise multiplicative.
/// Least squares in logarithms by Gauss-Newton, groups as fixed effects, each factor held to its
/// prior as firmly as that is known. A lane whose share hardly varies within groups keeps its
/// prior, and the others are fitted beside that: nothing tells its effect from the base. Factors
/// stay within [0.3, 1].
[[nodiscard]] std::vector<FactorEstimate> fit_factors(const std::vector<OverlappedTask>& tasks,
                                                      const std::vector<FactorEstimate>& priors);

/// A measured run and its graph, which both outlive it.
struct TimedRun {
  const planner::StepGraph& graph;
  const MeasuredRun& run;
};

/// Factors on the compute and cpu lanes from all `runs`; `priors` names the pairs that are
/// fitted. Tasks shorter than a quarter of a millisecond are left out: hand-offs rule them.
/// What rest sped up, by the `boost` and shares of `profile`, counts as long as it would be
/// sustained.
[[nodiscard]] std::vector<LaneFactor> fit_interference(
    const std::vector<TimedRun>& runs, const std::vector<LaneFactor>& priors,
    const planner::MachineProfile& profile,
    const std::optional<planner::CostModel::LaneBoost>& boost);

}  // namespace sluice::profiler
