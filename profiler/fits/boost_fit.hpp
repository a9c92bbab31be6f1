// Fit of a device's boost: how much faster it computes after rest, from passes with more and less
// rest before them.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// One task of the compute lane. Spans come in order of time.
struct ComputeSpan {
  Seconds start{0}, end{0};
  /// Number of the group: tasks of one group would take equal time if the lane never rested.
  std::size_t group = 0;
  /// Share of the boost that the task gains (planner/costs/lane_boost.hpp). Tasks with 0 keep the
  /// lane busy but are not fitted to.
  double boosts = 1;
  std::size_t step = 0, task = 0;  ///< Index of the measured run's step, and of the task in it.
};

struct BoostFit {
  planner::CostModel::LaneBoost boost{};
  double gain_deviation = 0, most_deviation = 0;
  double residual_without = 0;  ///< Root mean square of log(time) within groups.
  /// Root mean square within groups of the logarithms of times with the boost taken out.
  double residual = 0;
  std::size_t points = 0;  ///< Number of points: medians of a group's tasks after about equal rest.
};

/// Fits gain, highest speed and window by least squares in logarithms, over grids of windows from
/// 15 to 120 ms, gains up to 0.8 and speeds up to 1.5 (the residual is flat along gain x window).
/// The lasting part of the boost is not fitted but taken as found on eleven H200s
/// (experiments/results/current/prediction-study-eleven-hosts), since it cannot be told from gain
/// and window within one run. Groups are fixed effects by their median; misses beyond 8 % count as
/// 8 % (a task that waited for something else). Each of `runs` is a separate stretch of time, whose
/// first four windows only tell the rest that there was. None where rest hardly varies within
/// groups, or where it explains less than a fifth of the residual.
[[nodiscard]] std::optional<BoostFit> fit_boost(const std::vector<std::vector<ComputeSpan>>& runs);

/// Spans of a measured run's compute lane. Equal cost keys get equal groups across calls that share
/// `groups`.
[[nodiscard]] std::vector<ComputeSpan> compute_spans(const planner::StepGraph& graph,
                                                     const planner::MachineProfile& profile,
                                                     const MeasuredRun& run,
                                                     std::vector<planner::CostKey>& groups);

/// Speed over sustained speed of each task, for the rest before it, by step and task of `run`.
[[nodiscard]] std::vector<std::vector<double>> boost_speeds(
    const planner::StepGraph& graph, const planner::MachineProfile& profile, const MeasuredRun& run,
    const planner::CostModel::LaneBoost& boost);

/// Adds the fit to a calibration (planner/costs/lane_boost.hpp).
void add_boost(planner::Calibration& calibration, const std::string& profile_hash,
               const BoostFit& fit, const std::string& source);

}  // namespace sluice::profiler
