// Saves of checkpoints during a run, and the messages about them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "engine/state/saving.hpp"
#include "engine/training/session.hpp"
#include "profiler/training/train_parts.hpp"
#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// Writes the checkpoints of one run. All constructor arguments must outlive it.
class RunSaves {
 public:
  RunSaves(TrainedRun& run, const TrainParts& parts, StepFollower& follower,
           engine::Session& session);

  void save(engine::Session& session, std::optional<double> loss);
  /// Saves the run's last state and waits for it. After an interruption an older unfinished save is
  /// abandoned, because whoever interrupts may not wait for two.
  void save_last(engine::Session& session, std::optional<double> loss);
  /// See engine::Saving::gathered_hashes().
  [[nodiscard]] engine::StateHashes gathered_hashes(engine::Session& session) {
    return saving_->gathered_hashes(session.state());
  }
  /// Counts the saves that ended since the last call, and warns of those that failed.
  void tell();
  /// Waits for unfinished saves; returns the step of the newest checkpoint, from this start of the
  /// run or from the one that it continued. None if there is no checkpoint.
  std::optional<std::int64_t> last_step();

 private:
  [[nodiscard]] engine::CheckpointFacts facts(const engine::Session& session,
                                              std::optional<double> loss) const;
  void shown(bool told, const std::function<void()>& work);

  TrainedRun& run_;
  const TrainParts& parts_;
  StepFollower& follower_;
  /// Function that shows the progress of a save; empty unless training is paused for one.
  AmountShown show_;
  std::optional<std::int64_t> last_;  ///< Step of the save at the run's end; none before it.
  std::unique_ptr<engine::Saving> saving_;
};

}  // namespace sluice::profiler
