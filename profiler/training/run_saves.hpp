// The saves of one run, and what is said of them.
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

/// All that it is made of outlives it.
class RunSaves {
 public:
  RunSaves(TrainedRun& run, const TrainParts& parts, StepFollower& follower,
           engine::Session& session);

  void save(engine::Session& session, std::optional<double> loss);
  /// The run's last state. Whoever interrupts may not wait for two saves.
  void save_last(engine::Session& session, std::optional<double> loss);
  /// Warns of what failed since the last call.
  void tell();
  /// Waits for what is being written; the step saved last, by this start of the run or before it.
  std::optional<std::int64_t> last_step();

 private:
  [[nodiscard]] engine::CheckpointFacts facts(const engine::Session& session,
                                              std::optional<double> loss) const;
  void shown(bool told, const std::function<void()>& work);

  TrainedRun& run_;
  const TrainParts& parts_;
  StepFollower& follower_;
  AmountShown show_;                  ///< Empty but while training stands still for a save.
  std::optional<std::int64_t> last_;  ///< The step saved at the end.
  std::unique_ptr<engine::Saving> saving_;
};

}  // namespace sluice::profiler
