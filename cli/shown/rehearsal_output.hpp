// Output of a rehearsal: predicted and measured times, the bound, and the kinds of values found.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/records/metrics.hpp"
#include "engine/rehearsal/rehearsal.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"
#include "sim/trace.hpp"

namespace sluice::cli {

/// A rehearsal that has ended, with its prediction.
struct Rehearsed {
  const planner::RunConfig& config;
  const planner::Job& job;
  const planner::PredictedStep& predicted;
  std::string machine;
  planner::DeviceKind device;
  std::string plan_source, graph_sha256, folder;
  Bytes host_needed{0};  ///< Host memory that the rehearsed training needs.
  Bytes window{0}, in_flight{0};
  std::string started, ended;  ///< Start and end time, UTC.
  std::int64_t steps = 0;
  bool interrupted = false;
  std::vector<Seconds> step_times;
  Bytes device_peak{0}, host_peak{0}, resident_peak{0}, locked_peak{0};
  engine::RehearsalValues values;
  std::optional<sim::Trace> measured_trace;

  /// Median time of the steps after the first, which has no step before it to overlap with; with a
  /// single step, its time.
  [[nodiscard]] std::optional<Seconds> median_step() const;
};

/// JSON of a rehearsal (docs/schemas/rehearsal.schema.json).
[[nodiscard]] std::string rehearsal_json(const Rehearsed& run);
[[nodiscard]] std::string rehearsal_table(const Rehearsed& run);

}  // namespace sluice::cli
