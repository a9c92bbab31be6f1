// Command line of `sluice train`: the run, its data, and how to execute it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/requests/run_planning.hpp"

namespace sluice::cli {

inline constexpr char kTrainUsage[] =
    "sluice train RUN [--resume | --dry-run | --rehearse] [--no-checkpoint] [--json] "
    "[--trace-out T.json] [run flags]";
[[nodiscard]] std::vector<planner::VerbFlag> train_flags();

/// A run that is ready to be planned: everything that can be refused without a plan has been
/// checked.
struct TrainRequest {
  planner::RunConfig config;  ///< The run's settings; epochs have been converted to steps.
  planner::RunPlanning planning;
  std::unique_ptr<engine::WindowedText> text;
  std::optional<std::filesystem::path> resumed;  ///< Folder of the run to continue.
  std::optional<std::string> trace_out;          ///< File for a measured trace of three steps.
  bool dry = false, json = false;
  bool saves = true;  ///< Whether checkpoints are written.

  [[nodiscard]] const planner::Job& job() const { return planning.predictor.job(); }
  [[nodiscard]] const planner::ResolvedMachine& machine() const {
    return planning.predictor.machine();
  }
};

/// Reads and checks the command line. Throws BadRequest, or EnvironmentError if this machine cannot
/// train, which a dry run does not need.
[[nodiscard]] TrainRequest read_train_request(const planner::RunArguments& words);

/// Refuses a machine on which training cannot work. Warnings are left to `sluice doctor`.
void require_healthy(const planner::RunConfig& config);

}  // namespace sluice::cli
