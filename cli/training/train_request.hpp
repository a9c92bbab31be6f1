// What `sluice train` is asked: the run, its data, and how to go about it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_arguments.hpp"

namespace sluice::cli {

inline constexpr char kTrainUsage[] =
    "sluice train RUN [--resume | --dry-run | --rehearse] [--no-checkpoint] [--json] "
    "[--trace-out T.json] [run flags]";
[[nodiscard]] std::vector<planner::VerbFlag> train_flags();

/// A run that may be planned: nothing that can be refused without a plan is left to refuse.
struct TrainRequest {
  planner::RunConfig config;  ///< Its steps are a number, of epochs too.
  planner::Request planning;
  std::unique_ptr<engine::WindowedText> text;
  std::optional<std::filesystem::path> resumed;  ///< The folder of a run to go on with.
  std::optional<std::string> trace_out;          ///< A file, of three steps.
  bool dry = false, json = false;
  bool saves = true;  ///< Writes checkpoints.

  [[nodiscard]] const planner::Job& job() const { return planning.predictor.job(); }
  [[nodiscard]] const planner::ResolvedMachine& machine() const {
    return planning.predictor.machine();
  }
};

/// Throws BadRequest, or EnvironmentError where this machine cannot train; of a dry run it need
/// not.
[[nodiscard]] TrainRequest read_train_request(const planner::RunArguments& words);

/// Refuses a machine where training cannot work; warnings are for `sluice doctor`.
void require_healthy(const planner::RunConfig& config);

}  // namespace sluice::cli
