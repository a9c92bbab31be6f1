// Residual of one run: predicted beside measured times.
#pragma once

#include <span>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "profiler/traces/key_times.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// A cost key's time in one step, predicted with the fitted calibration and measured (median over
/// steps, hand-offs included).
struct KeyResidual {
  planner::CostKey key;
  Seconds predicted{0};
  Seconds measured{0};
  [[nodiscard]] Seconds miss() const { return measured - predicted; }
};

/// Predicted and measured step time of one run, with its cost keys.
struct RunResidual {
  Seconds predicted{0};
  Seconds measured{0};            ///< Median of the measured step times.
  std::vector<KeyResidual> keys;  ///< Cost keys of the step, largest miss first.
};

/// The residual of one run under a calibration, without fitting.
[[nodiscard]] RunResidual residual(const planner::Job& job, const planner::MachineProfile& profile,
                                   const planner::Calibration& calibration, const MeasuredRun& run);
/// The residual of one run, from its graph and its measured keys.
[[nodiscard]] RunResidual residual(planner::StepGraph& graph, const MeasuredRun& run,
                                   const MeasuredKeys& measured);

/// The step graph of each run, with costs by profile and calibration.
[[nodiscard]] std::vector<planner::StepGraph> build_graphs(const planner::Job& job,
                                                           const planner::MachineProfile& profile,
                                                           const planner::Calibration& calibration,
                                                           std::span<const MeasuredRun> runs);

}  // namespace sluice::profiler
