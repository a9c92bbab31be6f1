// Where a run's weights come from, and what its checkpoints say.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "engine/datasets/data.hpp"
#include "engine/model_files/checkpoint.hpp"
#include "engine/records/run_folder.hpp"
#include "engine/training/session.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// What a run starts from: a checkpoint of it, the weights of its model's folder, or neither.
struct RunStart {
  std::unique_ptr<engine::Checkpoint> checkpoint;
  std::unique_ptr<engine::ModelWeights> weights;
  std::optional<std::filesystem::path> model_folder;
  std::string weights_from;  ///< "random", the model's folder, or the checkpoint's.

  [[nodiscard]] std::int64_t step() const { return checkpoint ? checkpoint->facts().step : 0; }
  /// For people: "weights: 2.1 GB of bf16 in 3 files of /models/x".
  [[nodiscard]] std::string description(std::int64_t seed) const;
};

/// The folder of the run to go on with: RUN where it is a run folder or the run.yaml in one, else
/// `out`. Throws BadRequest where neither is given.
[[nodiscard]] std::filesystem::path folder_to_resume(const planner::RunArguments& request);

/// What identifies a run's state, to compare a checkpoint with.
struct RunIdentity {
  const planner::RunConfig& config;
  const planner::Job& job;
  std::string job_hash, numerics_id, data_sha256;
};

/// `resumed` is the folder of a run to go on with, if any: the newest intact checkpoint in it is
/// where the run starts; torn ones are named on stderr. Throws BadRequest where the checkpoint is
/// of another job, seed, text or numerics id, where none is intact, or where the model's folder is
/// refused.
[[nodiscard]] RunStart find_start(const RunIdentity& identity,
                                  const std::optional<std::filesystem::path>& resumed);

/// The run's data; `show` is told while they become tokens, which happens once.
[[nodiscard]] std::unique_ptr<engine::WindowedText> text_of(const planner::RunConfig& config,
                                                            const AmountShown& show);

/// The session at its start; `told` hears of weights while they are read. `place` is where what
/// lives on the disk goes.
[[nodiscard]] std::unique_ptr<engine::Session> start_session(
    const RunStart& start, const RunIdentity& identity, const planner::StepGraph& graph,
    std::unique_ptr<engine::Device> device, engine::TokenSource& tokens,
    engine::StepRunner::LearningRate learning_rate, const engine::DiskPlace& place,
    engine::Observer* observer, RunObserver& told);

/// One line where the disk's file system refuses to be passed the page cache, and what that costs.
void tell_of_page_cache(const engine::DiskStore& disk);

/// What a checkpoint after `step` says.
[[nodiscard]] engine::CheckpointFacts facts_of(const RunStart& start, const RunIdentity& identity,
                                               std::int64_t step, std::optional<double> val_loss);

}  // namespace sluice::profiler
