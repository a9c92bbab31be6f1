// A row of the published table: a job that is predicted in the ledger, then run for some steps on
// synthetic tokens, and explained.
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
  std::string name;  ///< Name of the row in the table, such as "7b-32-any".
  /// The run to predict and execute; `steps` counts all of its steps, and no data is read.
  planner::RunConfig config;
  /// Number of first steps that are not measured: at least 2, and fewer than the run's steps.
  std::int64_t warm_up = 3;
  std::filesystem::path ledger;
  /// Commit of the program to write to the ledger; empty for the one that the program was built
  /// from.
  std::string commit;
  /// Whether the row is to be run (`run`), or only predicted (`promise`), which needs no backend
  /// here.
  enum class Purpose { run, promise } purpose = Purpose::run;
};

/// A row as it was predicted before it runs.
struct PromisedRow {
  RowRequest request;
  planner::Job job;
  planner::ResolvedMachine machine;
  planner::PredictedStep step;
  planner::Ceilings ceilings;
  planner::Waterfall waterfall;  ///< Waterfall of the predicted step.
  /// Meter of this process's device memory, made before the process touched the device.
  OwnDeviceMemory memory;
  [[nodiscard]] Seconds predicted() const { return to_seconds(step.prediction.step); }
  /// Tokens per second of steps that take `length` each.
  [[nodiscard]] double tokens_per_s(Seconds length) const {
    return static_cast<double>(job.tokens()) / length.count();
  }
};

/// Plans the row (or takes the request's plan file) and predicts it. Throws BadRequest,
/// EnvironmentError where it is to run without its backend, and Error(does_not_fit) naming the tier
/// and how many bytes it lacks.
[[nodiscard]] PromisedRow promise_row(const RowRequest& request);

/// Results of a row that was run.
struct MeasuredRow {
  std::string promise;         ///< Hash of the prediction's line in the ledger.
  Seconds ready{0};            ///< Time from the prediction until the first step could run.
  std::vector<Seconds> steps;  ///< Step times after the warm-up, in order of running.
  Seconds median{0}, fastest{0}, slowest{0};
  planner::Waterfall waterfall;  ///< Waterfall of the step whose time is the median of `steps`.
  std::vector<TaskMean> tasks;   ///< Means over `steps`, one entry for each kind of task.
  double first_loss = 0, last_loss = 0;
  Bytes device_arena{0}, host_arena{0};  ///< Bytes of the arenas that the run's tasks touched.
  /// Device memory of this process as the driver reports it; none where it does not.
  std::optional<Bytes> hbm_in_use;
  /// Device memory in use by all processes (total less free); none where the driver does not report
  /// it.
  std::optional<Bytes> hbm_of_all;
};

/// Writes the row's prediction to the ledger, runs it, and writes the measurement to the ledger.
/// Throws as engine::Session does.
[[nodiscard]] MeasuredRow run_row(PromisedRow& row);

/// Text with everything known before the run: prediction, plan, arenas, bound.
[[nodiscard]] std::string promise_text(const PromisedRow& row);
/// Text with measured beside predicted numbers: step, memory, waterfall, tasks, loss.
[[nodiscard]] std::string row_text(const PromisedRow& row, const MeasuredRow& measured);
/// The row as JSON text (docs/schemas/row.schema.json).
[[nodiscard]] std::string row_json(const PromisedRow& row, const MeasuredRow& measured);

}  // namespace sluice::profiler
