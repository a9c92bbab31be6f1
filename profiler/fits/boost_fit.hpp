// How much faster a device computes after it rested, from passes that ran after more and less rest.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// One task of the compute lane, in order of time.
struct ComputeSpan {
  Seconds start{0}, end{0};
  std::size_t group = 0;  ///< Tasks of one group would take one time if the lane never rested.
  /// Share of the boost (planner/costs/lane_boost.hpp); those of none keep the lane busy and say
  /// nothing.
  double boosts = 1;
  std::size_t step = 0, task = 0;  ///< Of the measured run.
};

struct BoostFit {
  planner::CostModel::LaneBoost boost{};
  double gain_deviation = 0, most_deviation = 0;
  double residual_without = 0;  ///< Root of the mean square of log(time), within groups.
  double residual = 0;          ///< The same of what the times would be sustained.
  std::size_t points = 0;       ///< Medians of a group's tasks after about the same rest.
};

/// Least squares in logarithms over windows of 15 to 120 ms, gains up to 0.8 and speeds up to 1.5
/// (grids: the residual is flat along gain x window), beside what lasts, which is what eleven H200s
/// showed (experiments/results/current/prediction-study-eleven-hosts): within the passes that a run
/// teaches it hides behind their gain and window. Groups as fixed effects by their median,
/// misses beyond 8 % counted as that (a task that waited for something else). `runs`: each a
/// stretch of time of its own, whose first four windows only show what rest there was. None where
/// rest hardly varies within groups, or where it explains less than a fifth of the residual:
/// nothing then tells its effect from noise.
[[nodiscard]] std::optional<BoostFit> fit_boost(const std::vector<std::vector<ComputeSpan>>& runs);

/// Spans of a measured run's compute lane; equal cost keys get equal groups across calls that share
/// `groups`.
[[nodiscard]] std::vector<ComputeSpan> compute_spans(const planner::StepGraph& graph,
                                                     const planner::MachineProfile& profile,
                                                     const MeasuredRun& run,
                                                     std::vector<planner::CostKey>& groups);

/// By step and task of `run`: how much faster than sustained it ran for the rest before it.
[[nodiscard]] std::vector<std::vector<double>> boost_speeds(
    const planner::StepGraph& graph, const planner::MachineProfile& profile, const MeasuredRun& run,
    const planner::CostModel::LaneBoost& boost);

/// The fit as calibration keeps it (planner/costs/lane_boost.hpp).
void add_boost(planner::Calibration& calibration, const std::string& profile_hash,
               const BoostFit& fit, const std::string& source);

}  // namespace sluice::profiler
