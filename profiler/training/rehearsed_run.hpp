// Prediction and results of a rehearsal that has ended.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/rehearsal/rehearsal.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/trace.hpp"

namespace sluice::profiler {

/// A rehearsal that has ended: its run, its prediction and what was measured.
struct Rehearsed {
  const planner::RunConfig& config;
  const planner::Job& job;
  const planner::PredictedStep& predicted;
  std::string machine;
  planner::DeviceKind device;
  std::string plan_source, graph_sha256, folder;
  Bytes host_needed{0};  ///< Bytes of host memory that the training which was rehearsed would need.
  Bytes window{0}, in_flight{0};
  std::string started, ended;  ///< UTC times at which the rehearsal started and ended.
  std::int64_t steps = 0;
  bool interrupted = false;
  std::vector<Seconds> step_times;
  Bytes device_peak{0}, host_peak{0}, resident_peak{0}, locked_peak{0};
  engine::RehearsalValues values;
  std::optional<sim::Trace> measured_trace;

  /// Median time of the steps after the first, which has no step before it to overlap with; with a
  /// single step, its time. None without steps.
  [[nodiscard]] std::optional<Seconds> median_step() const;
};

/// JSON text of a rehearsal (docs/schemas/rehearsal.schema.json).
[[nodiscard]] std::string rehearsal_json(const Rehearsed& run);

}  // namespace sluice::profiler
