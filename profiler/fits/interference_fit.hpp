// Fit of interference: how much each lane slows another, from tasks that overlapped to different
// extents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// A fitted interference factor: while a task of lane `from` runs, tasks of lane `on` run at
/// `factor` times their speed.
struct LaneFactor {
  planner::LaneKind on;
  planner::LaneKind from;
  double factor = 1;
  double deviation = 0;
  std::int64_t count = 0;  ///< Number of tasks of lane `on` that the factor was fitted to.
  struct Delay {
    double seconds, deviation;
  };
  /// Seconds by which each kernel of a GPU's compute lane starts later while copies run, beside the
  /// factor (planner/costs/launch_delay.hpp); none for other pairs of lanes.
  std::optional<Delay> launch_delay = std::nullopt;
};

/// One measured task of lane `on`: the group of tasks that it is compared with, its duration, and
/// for how much of it the other lanes ran.
struct OverlappedTask {
  /// Index of the group to which the task belongs: tasks of one group would take equal time if they
  /// ran alone.
  std::size_t group;
  double seconds;
  /// For each lane `from` of the fit, the share (0 to 1) of the task's time during which that lane
  /// ran.
  std::vector<double> share;
};

/// Share (0 to 1) of `span` during which one of `spans` runs; these must be sorted and disjoint.
[[nodiscard]] double overlapped_share(const Recorder::Span& span,
                                      const std::vector<Recorder::Span>& spans);
/// Spans of all tasks of lane `lane` over all steps of a run, in order of time.
[[nodiscard]] std::vector<Recorder::Span> lane_spans(const planner::StepGraph& graph,
                                                     const MeasuredRun& run,
                                                     planner::LaneKind lane);

struct FactorEstimate {
  double factor;
  double deviation;
};

/// Fits factors f_l of lanes l in the model seconds = base[group] / prod_l (1 - (1 - f_l) x
/// share_l) with multiplicative noise, one estimate for each prior. Least squares in logarithms by
/// Gauss-Newton, with groups as fixed effects and each factor held to its prior by the prior's
/// deviation. A lane whose share hardly varies within groups keeps its prior, since nothing tells
/// its effect from the base. Factors stay within [0.3, 1].
[[nodiscard]] std::vector<FactorEstimate> fit_factors(const std::vector<OverlappedTask>& tasks,
                                                      const std::vector<FactorEstimate>& priors);

/// A measured run and the step graph of its plan; both must outlive this.
struct TimedRun {
  const planner::StepGraph& graph;
  const MeasuredRun& run;
};

/// Fits interference factors on the compute and cpu lanes to all `runs`; `priors` has the pairs of
/// lanes to fit. Tasks shorter than a quarter of a millisecond are left out, since hand-offs
/// dominate them. Tasks sped up by rest count with their sustained time, by `boost` and the shares
/// of `profile`.
[[nodiscard]] std::vector<LaneFactor> fit_interference(
    const std::vector<TimedRun>& runs, const std::vector<LaneFactor>& priors,
    const planner::MachineProfile& profile,
    const std::optional<planner::CostModel::LaneBoost>& boost);

}  // namespace sluice::profiler
