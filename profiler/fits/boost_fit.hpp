// Fit of a device's boost, which is how much faster it computes after rest, to passes with more and
// with less rest before them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// Time of one task of the compute lane; lists of them are in order of time.
struct ComputeSpan {
  Seconds start{0}, end{0};
  /// Index of the group that the task belongs to: tasks of one group would take equal time if the
  /// lane never rested.
  std::size_t group = 0;
  /// Share (0 to 1) of the boost by which the task gets faster (planner/costs/lane_boost.hpp).
  /// Tasks with 0 keep the lane busy but are not fitted to.
  double boosts = 1;
  /// Index of the step in the measured run, and of the task in the step.
  std::size_t step = 0, task = 0;
};

struct BoostFit {
  planner::CostModel::LaneBoost boost{};
  double gain_deviation = 0, most_deviation = 0;
  /// Root mean square difference, in logarithms, of the fitted points' times from their group's
  /// median.
  double residual_without = 0;
  /// Root mean square as in residual_without, but with the fitted boost taken out of the times.
  double residual = 0;
  /// Number of points that were fitted to; each is the median of a group's tasks after about equal
  /// rest.
  std::size_t points = 0;
};

/// Fits gain, highest speed and window by least squares in logarithms, over grids of windows from
/// 15 to 120 ms, gains up to 0.8 and speeds up to 1.5 (the residual is flat along gain x window).
/// The lasting part of the boost is not fitted but taken as found on eleven H200s
/// (experiments/results/current/prediction-study-eleven-hosts), since it cannot be told from gain
/// and window within one run. Groups are fixed effects by their median; misses beyond 8 % count as
/// 8 % (a task that waited for something else). Each of `runs` is a separate stretch of time, whose
/// first four windows serve only to know the rest that there was. None where rest hardly varies
/// within groups, or where it explains less than a fifth of the residual.
[[nodiscard]] std::optional<BoostFit> fit_boost(const std::vector<std::vector<ComputeSpan>>& runs);

/// Times of all compute tasks of a measured run. `groups` lists the cost keys by group number; keys
/// that it lacks are added, so that equal keys have equal groups across calls that share it.
[[nodiscard]] std::vector<ComputeSpan> compute_spans(const planner::StepGraph& graph,
                                                     const planner::MachineProfile& profile,
                                                     const MeasuredRun& run,
                                                     std::vector<planner::CostKey>& groups);

/// For each step of `run` and each task of it, the task's speed with the rest before it, over the
/// speed of a lane that never rests.
[[nodiscard]] std::vector<std::vector<double>> boost_speeds(
    const planner::StepGraph& graph, const planner::MachineProfile& profile, const MeasuredRun& run,
    const planner::CostModel::LaneBoost& boost);

/// Adds the fitted boost to a calibration as samples of `profile_hash` with this `source` (keys:
/// planner/costs/lane_boost.hpp).
void add_boost(planner::Calibration& calibration, const std::string& profile_hash,
               const BoostFit& fit, const std::string& source);

}  // namespace sluice::profiler
