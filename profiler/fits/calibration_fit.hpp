// Fit of calibration to measured runs: the cost of each task alone, and how lanes slow each other.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "profiler/fits/boost_fit.hpp"
#include "profiler/fits/interference_fit.hpp"
#include "profiler/fits/run_residual.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

struct CalibrationFit {
  /// The calibration that was given, with the sample of every measured key replaced.
  planner::Calibration calibration;
  std::optional<BoostFit> boost;  ///< The boost, if it was fitted here.
  std::vector<LaneFactor> interference;
  std::vector<RunResidual> runs;
};

struct CalibrationOptions {
  int iterations = 5;
  /// Whether to fit the boost to `runs`, if neither profile nor calibration has it.
  bool boost = true;
  /// Whether to fit interference to `runs`; otherwise that of `start` is kept.
  bool interference = true;
  std::string source = "autotune";
};

/// Fits interference to all `runs` together, which may be of different jobs: a single run tells
/// little of it. Factors of the pairs that the profile states by threads come from the runs of each
/// thread count, the others from all runs. The result goes to `calibration`, whose own factors are
/// the fit's priors. Returns the fitted factors.
std::vector<LaneFactor> learn_interference(planner::Calibration& calibration,
                                           const planner::MachineProfile& profile,
                                           std::span<const TimedRun> runs,
                                           const std::string& source);

/// Fits costs to measured runs. Measured durations contain contention and interference, so the cost
/// of a task alone is found as a fixed point:
///
///   base[key] <- base[key] x measured(key) / simulated(key),
///
/// both summed over a step and over all runs, the simulation under the same plans with the bases of
/// the iteration before. The boost is fitted first (boost_fit.hpp), so that costs are those of a
/// lane that never rests; then interference factors, from tasks overlapped to different extents
/// (interference_fit.hpp). Times by CUDA events have an uncertainty of some microseconds a task
/// besides their spread. Keys whose tasks take no time in the simulation, and copies of less than
/// two milliseconds, stay as they are. `runs` are of `job`, each with at least three steps; `start`
/// is not modified.
[[nodiscard]] CalibrationFit fit_calibration(const planner::Job& job,
                                             const planner::MachineProfile& profile,
                                             const planner::Calibration& start,
                                             std::span<const MeasuredRun> runs,
                                             const CalibrationOptions& options = {});

}  // namespace sluice::profiler
