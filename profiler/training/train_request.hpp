// Request for a run of training: the run, its data, and how to execute it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/datasets/data.hpp"
#include "planner/requests/request.hpp"
#include "profiler/training/process_rank.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// Options of a run that its RunConfig does not state.
struct TrainOptions {
  std::optional<std::filesystem::path> resumed = {};  ///< Folder of the run to continue.
  std::optional<std::string> trace_out = {};          ///< File for a measured trace of three steps.
  bool dry = false;                                   ///< Whether the run is only predicted.
  bool saves = true;                                  ///< Whether checkpoints are written.
  bool hashes = true;  ///< Whether the last state is hashed, which takes time of its own.
  /// Whether a checkpoint whose moments have another type than the run's goes on converted.
  bool converts_state = false;
  /// This process's place among others that are ranks; none where it is the only one.
  std::optional<ProcessRank> rank = {};
};

/// A run that is ready to be planned: everything that can be refused without a plan has been
/// checked.
struct TrainRequest {
  /// The run's settings; epochs have been converted to steps, and save_every is 0 without saves.
  planner::RunConfig config;
  planner::Request planning;
  std::unique_ptr<engine::WindowedText> text;
  TrainOptions options;

  [[nodiscard]] const planner::Job& job() const { return planning.predictor.job(); }
  [[nodiscard]] const planner::ResolvedMachine& machine() const {
    return planning.predictor.machine();
  }
};

/// Checks the run and opens its data; `policy` is the run's policy if the caller has read it
/// already. Throws BadRequest, or EnvironmentError if this machine cannot train, which a dry run
/// does not need.
[[nodiscard]] TrainRequest read_train_request(
    planner::RunConfig config, TrainOptions options, RunObserver& observer,
    const std::optional<planner::Policy>& policy = std::nullopt);

/// Throws BadRequest if the text has token ids that the model does not, naming the first place
/// where that is known.
void require_vocabulary(const engine::WindowedText& text, const planner::ModelShape& model);
/// Warns if the job's sequences are longer than its model was made for.
void warn_of_positions(const planner::Job& job);

/// Throws EnvironmentError on a machine on which training cannot work (examine_machine). Warnings
/// are left to `sluice doctor`.
void require_healthy(const planner::RunConfig& config);

}  // namespace sluice::profiler
