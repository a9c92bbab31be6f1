// Saves of a run: in the background from a snapshot, or in a pause; one at a time.
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
#include "engine/records/run_folder.hpp"
#include "engine/state/state_snapshot.hpp"

namespace sluice::engine {

/// How one save went.
struct SaveReport {
  std::int64_t step = 0;
  std::optional<std::filesystem::path> folder{};  ///< None where it failed.
  std::string failure{};                          ///< Why, one line.
  std::string warning{};                          ///< Written, but an old one could not be removed.
  Seconds stall{0};                               ///< Training stood still.
  Seconds written{0};  ///< From the step boundary until the disk held it.
};

struct SavingOptions {
  std::string config;  ///< config.json of checkpoints.
  KeptCheckpoints kept{};
  bool background = false;  ///< A snapshot is made, and written while training goes on.
  /// Threads that write in the background: few, for the optimizer has the cores.
  std::int64_t background_threads = 2;
  /// Of a save in a pause; may be empty.
  std::function<void(std::int64_t step, std::int64_t done, std::int64_t all)> progress = nullptr;
};

/// Writes checkpoints into a run's folder and drops those that are not kept. No save throws: what
/// fails is in its report, for a run does not end because it could not be saved.
class Saving {
 public:
  /// Takes the memory of a snapshot where saves are in the background. `folder` and the device of
  /// `state` must outlive it.
  Saving(const RunFolder& folder, const planner::ModelShape& shape, const TrainingState& state,
         SavingOptions options);
  /// Waits for a save that is being written.
  ~Saving();
  Saving(const Saving&) = delete;  // Its thread points back at it.
  Saving& operator=(const Saving&) = delete;

  /// Saves `state`, which stands at a step boundary. In the background it returns once the copy is
  /// made, after waiting for the save before it.
  void save(CheckpointFacts facts, const TrainingState& state);
  /// What becomes of a save in the background that is not done when a newer one cannot wait.
  enum class Older { finished, given_up };
  /// Saves before anything else happens, on all cores, but for the save before it.
  void save_now(CheckpointFacts facts, const TrainingState& state, Older older);
  /// Waits until nothing is being written.
  void finish();
  /// Saves that have ended since the last call.
  [[nodiscard]] std::vector<SaveReport> ended();
  /// The step saved last and whole, if any was.
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
