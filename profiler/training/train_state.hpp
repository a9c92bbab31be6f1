// Initial state of a run, and contents of its checkpoints.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/datasets/data.hpp"
#include "engine/model_files/checkpoint.hpp"
#include "engine/run_folders/run_folder.hpp"
#include "engine/training/session.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// Origin of a run's state: one of its checkpoints, the weights of its model's folder, or neither.
struct RunStart {
  std::unique_ptr<engine::Checkpoint> checkpoint;
  std::unique_ptr<engine::ModelWeights> weights;
  std::optional<std::filesystem::path> model_folder;
  std::string weights_from;  ///< "random", the model's folder, or the checkpoint's.

  [[nodiscard]] std::int64_t step() const { return checkpoint ? checkpoint->facts().step : 0; }
  /// Text for people: "weights: 2.1 GB of bf16 in 3 files of /models/x".
  [[nodiscard]] std::string description(std::int64_t seed) const;
};

/// Folder of the run to continue: RUN if it is a run folder or the run.yaml in one, else `out`.
/// Throws BadRequest if neither is given.
[[nodiscard]] std::filesystem::path folder_to_resume(const planner::RunArguments& request);

/// Identity of a run, which its checkpoints must match.
struct RunIdentity {
  const planner::RunConfig& config;
  const planner::Job& job;
  std::string job_hash, numerics_id, data_sha256;
};

/// Finds what a run starts from. `resumed` is the folder of a run to continue, if any, which starts
/// from its newest intact checkpoint; damaged ones are named on stderr. Throws BadRequest if the
/// checkpoint is of another job, seed, text or numerics id, if none is intact, or if the model's
/// folder is refused.
[[nodiscard]] RunStart find_start(const RunIdentity& identity,
                                  const std::optional<std::filesystem::path>& resumed);

/// Whether the run in a folder, which is to continue, took byte values for tokens: it keeps no
/// tokenizer, and its model has none. Its data are then read in this way again.
[[nodiscard]] bool trained_on_bytes(const std::filesystem::path& run,
                                    const planner::RunConfig& config);

/// Opens the run's data; `show` is told while they are cut into tokens, which happens once.
[[nodiscard]] std::unique_ptr<engine::WindowedText> text_of(const planner::RunConfig& config,
                                                            const AmountShown& show);

/// Creates the session with its initial state; `told` hears of weights while they are read.
/// `place`: where the disk file goes.
[[nodiscard]] std::unique_ptr<engine::Session> start_session(
    const RunStart& start, const RunIdentity& identity, const planner::StepGraph& graph,
    std::unique_ptr<engine::Device> device, engine::TokenSource& tokens,
    engine::StepRunner::LearningRate learning_rate, const engine::DiskPlace& place,
    engine::Observer* observer, RunObserver& told);

/// Prints one line if the disk's file system does not let transfers bypass the page cache, with the
/// consequence.
void tell_of_page_cache(const engine::DiskStore& disk);

/// Contents of a checkpoint after `step`.
[[nodiscard]] engine::CheckpointFacts facts_of(const RunStart& start, const RunIdentity& identity,
                                               std::int64_t step, std::optional<double> val_loss);

}  // namespace sluice::profiler
