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

/// Time of one cost key's tasks (planner/costs/cost_key.hpp) in one step: predicted, and measured
/// (median over steps, hand-offs included).
struct KeyResidual {
  planner::CostKey key;
  Seconds predicted{0};
  Seconds measured{0};
  [[nodiscard]] Seconds miss() const { return measured - predicted; }
};

/// Predicted and measured step time of one run, and times of its cost keys.
struct RunResidual {
  Seconds predicted{0};
  Seconds measured{0};            ///< Median of the measured step times.
  std::vector<KeyResidual> keys;  ///< Cost keys of the step, the one with the largest miss first.
};

/// Predicted beside measured times of `run`, with costs by `profile` and `calibration`; nothing is
/// fitted.
[[nodiscard]] RunResidual residual(const planner::Job& job, const planner::MachineProfile& profile,
                                   const planner::Calibration& calibration, const MeasuredRun& run);
/// Predicted beside measured times of `run`: by a simulation of its step graph, and by `measured`.
[[nodiscard]] RunResidual residual(planner::StepGraph& graph, const MeasuredRun& run,
                                   const MeasuredKeys& measured);

/// Step graph of each run's plan, with costs by `profile` and `calibration`.
[[nodiscard]] std::vector<planner::StepGraph> build_graphs(const planner::Job& job,
                                                           const planner::MachineProfile& profile,
                                                           const planner::Calibration& calibration,
                                                           std::span<const MeasuredRun> runs);

}  // namespace sluice::profiler
