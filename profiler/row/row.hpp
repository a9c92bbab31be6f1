// A row of the published table: a job predicted in the ledger, then run for some steps on synthetic
// tokens, and explained.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/predictions/ceilings.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/predictions/waterfall.hpp"
#include "planner/runs/run_config.hpp"
#include "profiler/row/task_means.hpp"
#include "profiler/sensors/driver_memory.hpp"

namespace sluice::profiler {

struct RowRequest {
  std::string name;           ///< Name of the row, such as "7b-32-any".
  planner::RunConfig config;  ///< The run; `steps` counts all of them, and no data is read.
  std::int64_t warm_up = 3;   ///< Steps that are not measured: at least 2, fewer than steps.
  std::filesystem::path ledger;
  std::string commit;  ///< Commit of the program; empty for the one that it was built from.
  /// Whether the row is run, or only predicted, which needs no backend here.
  enum class Purpose { run, promise } purpose = Purpose::run;
};

/// A row as predicted before it runs.
struct PromisedRow {
  RowRequest request;
  planner::Job job;
  planner::ResolvedMachine machine;
  planner::PredictedStep step;
  planner::Ceilings ceilings;
  planner::Waterfall waterfall;  ///< Waterfall of the simulated step.
  OwnDeviceMemory memory;        ///< Device memory in use before the process touched the device.
  [[nodiscard]] Seconds predicted() const { return to_seconds(step.prediction.step); }
  /// Throughput of steps of that length.
  [[nodiscard]] double tokens_per_s(Seconds length) const {
    return static_cast<double>(job.tokens()) / length.count();
  }
};

/// Plans the row (or takes the request's plan file). Throws BadRequest, EnvironmentError where it
/// is to run without its backend, and Error(does_not_fit) naming the tier and what the plan of
/// least memory lacks.
[[nodiscard]] PromisedRow promise_row(const RowRequest& request);

/// What was measured of a row.
struct MeasuredRow {
  std::string promise;         ///< Hash of the prediction's line in the ledger.
  Seconds ready{0};            ///< Time from the prediction until the first step could run.
  std::vector<Seconds> steps;  ///< Step times after the warm-up, in order of running.
  Seconds median{0}, fastest{0}, slowest{0};
  planner::Waterfall waterfall;  ///< Waterfall of the step whose time is the median of `steps`.
  std::vector<TaskMean> tasks;   ///< Means over `steps` by kind of task.
  double first_loss = 0, last_loss = 0;
  Bytes device_arena{0}, host_arena{0};  ///< Bytes of the arenas that the run's tasks touched.
  std::optional<Bytes> hbm_in_use;  ///< Device memory of this process, as the driver reports it.
  std::optional<Bytes> hbm_of_all;  ///< Device memory in use by all processes: total less free.
};

/// Writes the prediction to the ledger, runs, and writes the measurement. Throws as Session does.
[[nodiscard]] MeasuredRow run_row(PromisedRow& row);

/// Everything known before the run: prediction, plan, arenas, bound.
[[nodiscard]] std::string promise_text(const PromisedRow& row);
/// Measured beside predicted: step, memory, waterfall, tasks, loss.
[[nodiscard]] std::string row_text(const PromisedRow& row, const MeasuredRow& measured);
/// The row as JSON (docs/schemas/row.schema.json).
[[nodiscard]] std::string row_json(const PromisedRow& row, const MeasuredRow& measured);

}  // namespace sluice::profiler
