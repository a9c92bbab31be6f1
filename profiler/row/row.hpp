// A row of the published table: a job promised in the ledger, then run for some steps on synthetic
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
  std::string name;           ///< "7b-32-any"
  planner::RunConfig config;  ///< `steps` in all; no data is read.
  std::int64_t warm_up = 3;   ///< Steps that are not looked at: at least 2, fewer than steps.
  std::filesystem::path ledger;
  std::string commit;  ///< Of the program; empty for what it was built from.
  /// A row that is only promised needs no backend here.
  enum class Purpose { run, promise } purpose = Purpose::run;
};

/// What is known of a row before it runs.
struct PromisedRow {
  RowRequest request;
  planner::Job job;
  planner::ResolvedMachine machine;
  planner::PredictedStep step;
  planner::Ceilings ceilings;
  planner::Waterfall waterfall;  ///< Of the simulated step.
  OwnDeviceMemory memory;        ///< Asked before the process touched the device.
  [[nodiscard]] Seconds predicted() const { return to_seconds(step.prediction.step); }
  /// Of a step of that length.
  [[nodiscard]] double tokens_per_s(Seconds length) const {
    return static_cast<double>(job.tokens()) / length.count();
  }
};

/// Plans the row (or takes the request's plan file). Throws BadRequest, EnvironmentError where it
/// is to run without its backend, and Error(does_not_fit) naming the tier and what the leanest plan
/// lacks.
[[nodiscard]] PromisedRow promise_row(const RowRequest& request);

/// What the run was.
struct MeasuredRow {
  std::string promise;         ///< Hash of the prediction's line in the ledger.
  Seconds ready{0};            ///< From the promise until the first step could run.
  std::vector<Seconds> steps;  ///< After the warm-up, in order of running.
  Seconds median{0}, fastest{0}, slowest{0};
  planner::Waterfall waterfall;  ///< Of the step in the middle of `steps` by time.
  std::vector<TaskMean> tasks;   ///< Means over `steps`.
  double first_loss = 0, last_loss = 0;
  Bytes device_arena{0}, host_arena{0};  ///< Touched by the run's tasks.
  std::optional<Bytes> hbm_in_use;       ///< As the driver reports it for this process.
  std::optional<Bytes> hbm_of_all;       ///< Total less free: everything on the device.
};

/// Writes the promise to the ledger, runs, writes the measurement. Throws as Session does.
[[nodiscard]] MeasuredRow run_row(PromisedRow& row);

/// Everything known before the run: prediction, plan, arenas, bound.
[[nodiscard]] std::string promise_text(const PromisedRow& row);
/// Measured beside predicted: step, memory, waterfall, tasks, loss.
[[nodiscard]] std::string row_text(const PromisedRow& row, const MeasuredRow& measured);
/// docs/schemas/row.schema.json.
[[nodiscard]] std::string row_json(const PromisedRow& row, const MeasuredRow& measured);

}  // namespace sluice::profiler
