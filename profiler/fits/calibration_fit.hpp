// From measured runs to calibration: what each task costs alone, and how lanes slow each other.
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
  planner::Calibration calibration;  ///< What was given, with every measured key replaced.
  std::optional<BoostFit> boost;     ///< Where it was fitted here.
  std::vector<LaneFactor> interference;
  std::vector<RunResidual> runs;
};

struct CalibrationOptions {
  int iterations = 5;
  bool boost = true;         ///< Fitted from `runs` where neither profile nor calibration has it.
  bool interference = true;  ///< Fitted from `runs`; otherwise as `start` has it.
  std::string source = "autotune";
};

/// How lanes slow each other, from all `runs` together, which may be of different jobs: one run
/// tells little of it. Factors of the pairs that the profile states by threads come from the runs
/// of each thread count, the others from all runs: a fit looks at all pairs at once, and those of
/// the other kind are left. What is learnt goes to `calibration`, whose factors are what they are
/// held to.
std::vector<LaneFactor> learn_interference(planner::Calibration& calibration,
                                           const planner::MachineProfile& profile,
                                           std::span<const TimedRun> runs,
                                           const std::string& source);

/// Measured durations hold contention and interference, so a cost alone is found by fixed point:
///   base[key] <- base[key] x measured(key) / simulated(key),
/// both summed over a step and over all runs, the simulation under the same plans with the bases of
/// the iteration before. What rest does to the device's
/// clocks comes first (boost_fit.hpp), so that costs are those of a lane that never rests; then
/// interference factors, from tasks overlapped to different
/// extents (interference_fit.hpp). What CUDA events timed is uncertain by some microseconds a task
/// beside its spread. Keys whose tasks take no time in the simulation, and copies of
/// less than two milliseconds, are left alone. `runs` are of `job`, each with at least three steps;
/// `start` is not modified.
[[nodiscard]] CalibrationFit fit_calibration(const planner::Job& job,
                                             const planner::MachineProfile& profile,
                                             const planner::Calibration& start,
                                             std::span<const MeasuredRun> runs,
                                             const CalibrationOptions& options = {});

}  // namespace sluice::profiler
