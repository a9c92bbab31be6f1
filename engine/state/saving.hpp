// Saving of a run's checkpoints, one at a time: in the background from a snapshot, or while
// training pauses.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/model_files/checkpoint.hpp"
#include "engine/model_files/kept_checkpoints.hpp"
#include "engine/run_folders/run_folder.hpp"
#include "engine/state/state_snapshot.hpp"

namespace sluice::engine {

/// Outcome of one save.
struct SaveReport {
  std::int64_t step = 0;
  /// Folder of the checkpoint; none if the save failed.
  std::optional<std::filesystem::path> folder{};
  std::string failure{};  ///< Reason of a failed save, in one line; empty for a successful one.
  /// Problem after a successful save, in one line, such as that an old checkpoint could not be
  /// removed; empty without one.
  std::string warning{};
  Seconds stall{0};    ///< Time for which this save paused training.
  Seconds written{0};  ///< Time from the step boundary until the disk held the checkpoint.
};

struct SavingOptions {
  std::string config;  ///< Text of the checkpoints' config.json.
  KeptCheckpoints kept{};
  bool background = false;  ///< Whether a snapshot is taken and written while training goes on.
  /// Number of threads that write in the background; few, because the optimizer needs the cores.
  std::int64_t background_threads = 2;
  /// Set where ranks are processes, which then save at the same time, through a snapshot of all
  /// their slices on each: the first rank writes it.
  RankLinks links{};
  /// Called during a save that pauses training, with its step and the number of values (weights and
  /// both moments) written so far and of all. May be empty.
  std::function<void(std::int64_t step, std::int64_t done, std::int64_t all)> progress = nullptr;
};

/// Writes checkpoints into a run's folder and removes those that are not kept. No save throws: a
/// failure is reported, because a run must not end when a save fails.
class Saving {
 public:
  /// Allocates the snapshot if saves are in the background. `folder` and the device of `state` must
  /// outlive this object.
  Saving(const RunFolder& folder, const planner::ModelShape& shape, const TrainingState& state,
         SavingOptions options);
  /// Waits for a save that is being written.
  ~Saving();
  Saving(const Saving&) = delete;  // Its thread points back at it.
  Saving& operator=(const Saving&) = delete;

  /// Saves `state`, which must be at a step boundary. In the background mode it first waits for the
  /// previous save, and returns once the snapshot is taken.
  void save(CheckpointFacts facts, const TrainingState& state);
  /// What save_now() does with a background save that is not finished: waits for its end, or gives
  /// it up, which leaves neither checkpoint nor report.
  enum class Older { finished, given_up };
  /// Saves on all cores and returns when the checkpoint is written or the save has failed; deals
  /// with a save still being written first, as `older` says. Writes nothing if the last successful
  /// save was of the same step.
  void save_now(CheckpointFacts facts, const TrainingState& state, Older older);
  /// Hashes of the state of all ranks, where ranks are processes: all call it at the same time, and
  /// only the first one's are filled in.
  [[nodiscard]] StateHashes gathered_hashes(const TrainingState& state);
  /// Waits until no save is being written.
  void finish();
  /// Reports of the saves that have ended since the last call of this function.
  [[nodiscard]] std::vector<SaveReport> ended();
  /// Step of the last successful save, if any.
  [[nodiscard]] std::optional<std::int64_t> last_step() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Task {
    CheckpointFacts facts;
    std::int64_t threads = 0;
    Clock::time_point begin;
    Seconds stall{0};
    bool background = false;
  };
  void write(const Task& task, const StateSource& source);
  /// Copies the state to the snapshot.
  void take(const TrainingState& state);
  [[nodiscard]] bool writes() const { return options_.links.world().rank == 0; }

  const RunFolder& folder_;
  planner::ModelShape shape_;
  SavingOptions options_;
  std::unique_ptr<StateSnapshot> snapshot_;
  std::atomic<bool> given_up_{false};
  std::thread writer_;
  mutable std::mutex mutex_;  ///< Guards ended_ and last_step_.
  std::vector<SaveReport> ended_;
  std::optional<std::int64_t> last_step_;
};

}  // namespace sluice::engine
