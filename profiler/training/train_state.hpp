// Initial state of a run, and facts in its checkpoints.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/model_files/checkpoint.hpp"
#include "engine/run_folders/run_folder.hpp"
#include "engine/training/session.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// Origin of a run's initial state: a checkpoint of the run, the weights of its model's folder, or
/// random weights where both are null. `model_folder` is the model's folder; none for a model
/// without one.
struct RunStart {
  std::unique_ptr<engine::Checkpoint> checkpoint;
  std::unique_ptr<engine::ModelWeights> weights;
  std::optional<std::filesystem::path> model_folder;
  /// Origin in words for files: "random", the model's folder, or the checkpoint's.
  std::string weights_from;
  /// Tensors that the run's exports copy from the model's folder; none where all are trained.
  std::optional<engine::CarriedRecord> carried{};

  [[nodiscard]] std::int64_t step() const { return checkpoint ? checkpoint->facts().step : 0; }
  /// Origin in words for people, such as "weights: 2.1 GB of bf16 in 3 files of /models/x"; `seed`
  /// is that of random weights.
  [[nodiscard]] std::string description(std::int64_t seed) const;
};

/// Folder of the run to continue: the RUN argument if it is a run folder or the run.yaml in one,
/// else the run's `out`. Throws BadRequest if neither is given.
[[nodiscard]] std::filesystem::path folder_to_resume(const planner::RunArguments& request);

/// Facts that identify a run; its checkpoints must match them.
struct RunIdentity {
  const planner::RunConfig& config;
  const planner::Job& job;
  std::string job_hash, numerics_id, data_sha256;
  /// Hash of the data as version 0.1.0 computed it, over every window; none where that is
  /// `data_sha256`.
  std::optional<std::string> data_sha256_of_all_windows{};
  /// The renderer of the data's conversations, if they have any.
  std::optional<engine::ChatFacts> chat{};
  /// Whether the run keeps files of a tokenizer; none before its folder is open.
  std::optional<bool> keeps_tokenizer{};
};

/// Finds the state that a run starts from. `resumed` is the folder of a run to continue, from its
/// newest intact checkpoint; damaged ones are named on stderr. Without it the run starts from its
/// model's folder, if it has weights. Throws BadRequest if the checkpoint is of another job, seed,
/// text or numerics id, if none is intact, or if the model's folder is refused. A checkpoint of a
/// job that differs in optimizer.state alone is taken if the run `converts_state`.
[[nodiscard]] RunStart find_start(const RunIdentity& identity,
                                  const std::optional<std::filesystem::path>& resumed,
                                  bool converts_state = false);

/// Opens the run's data; `show` is told of the progress while they are cut into tokens, which
/// happens once.
[[nodiscard]] std::unique_ptr<engine::WindowedText> text_of(const planner::RunConfig& config,
                                                            const AmountShown& show);

/// Opens the data of a run that goes on, as text_of() does, by the reading that gives the hash
/// `begun`, which the run recorded: where `config` states no reading and the present one gives
/// another, by the one of before. Sets the reading that was taken in `config`, and says in a line
/// where it is one of before. The present reading where none gives that hash.
[[nodiscard]] std::unique_ptr<engine::WindowedText> text_as_begun(planner::RunConfig& config,
                                                                  const std::string& begun,
                                                                  const AmountShown& show);

/// Creates the session of `ranks` with its initial state; `told` hears of the progress while
/// weights are read. `place` says where the files for state on the disk go.
[[nodiscard]] std::unique_ptr<engine::Session> start_session(
    const RunStart& start, const RunIdentity& identity, const planner::StepGraph& graph,
    engine::SessionRanks ranks, engine::TokenSource& tokens,
    engine::StepRunner::LearningRate learning_rate, const engine::DiskPlace& place,
    RunObserver& told);

/// Prints a line that states the consequence if the disk's file system does not let transfers
/// bypass the page cache; else nothing.
void tell_of_page_cache(const engine::DiskStore& disk);

/// Facts that the checkpoint after `step` holds besides the state; `val_loss` is the validation
/// loss, if there is one.
[[nodiscard]] engine::CheckpointFacts facts_of(const RunStart& start, const RunIdentity& identity,
                                               std::int64_t step, std::optional<double> val_loss);

}  // namespace sluice::profiler
