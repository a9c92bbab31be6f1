// Saves during a run of `sluice train`, and the messages about them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cli/shown/amount_bar.hpp"
#include "cli/shown/progress.hpp"
#include "cli/training/train_steps.hpp"
#include "engine/state/saving.hpp"
#include "engine/training/session.hpp"

namespace sluice::cli {

/// Saves a run. All constructor arguments must outlive it.
class RunSaves {
 public:
  RunSaves(TrainedRun& run, const TrainParts& parts, const Progress& progress,
           engine::Session& session);

  void save(engine::Session& session, std::optional<double> loss);
  /// Saves the run's last state. After an interruption an older unfinished save is abandoned,
  /// because whoever interrupts may not wait for two.
  void save_last(engine::Session& session, std::optional<double> loss);
  /// Warns of saves that failed since the last call.
  void tell();
  /// Waits for unfinished saves; returns the step saved last, in this start of the run or before
  /// it.
  std::optional<std::int64_t> last_step();

 private:
  [[nodiscard]] engine::CheckpointFacts facts(const engine::Session& session,
                                              std::optional<double> loss) const;
  void with_bar(bool shown, const std::function<void()>& work);

  TrainedRun& run_;
  const TrainParts& parts_;
  const Progress& progress_;
  std::optional<AmountBar> bar_;
  std::optional<std::int64_t> last_;  ///< Step of the save at the run's end.
  std::unique_ptr<engine::Saving> saving_;
};

}  // namespace sluice::cli
