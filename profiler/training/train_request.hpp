// What a run of training is asked to be: the run, its data, and how to go about it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/datasets/data.hpp"
#include "planner/requests/run_planning.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// How to go about a run, beside what its config says.
struct TrainOptions {
  std::optional<std::filesystem::path> resumed = {};  ///< The folder of a run to go on with.
  std::optional<std::string> trace_out = {};          ///< A file, of three steps.
  bool dry = false;                                   ///< Nothing is run.
  bool saves = true;                                  ///< Writes checkpoints.
};

/// A run that may be planned: nothing that can be refused without a plan is left to refuse.
struct TrainRequest {
  planner::RunConfig config;  ///< Its steps are a number, of epochs too; without saves, none.
  planner::RunPlanning planning;
  std::unique_ptr<engine::WindowedText> text;
  TrainOptions options;

  [[nodiscard]] const planner::Job& job() const { return planning.predictor.job(); }
  [[nodiscard]] const planner::ResolvedMachine& machine() const {
    return planning.predictor.machine();
  }
};

/// Throws BadRequest, or EnvironmentError where this machine cannot train; a dry run does not need
/// one that can.
[[nodiscard]] TrainRequest read_train_request(planner::RunConfig config, TrainOptions options,
                                              RunObserver& observer);

/// Refuses a machine where training cannot work; warnings are for `sluice doctor`.
void require_healthy(const planner::RunConfig& config);

}  // namespace sluice::profiler
