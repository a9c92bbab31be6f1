// The hashes of a run's last state, taken while its checkpoint is written.
#pragma once

#include <atomic>
#include <future>

#include "engine/state/training_state.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// When hashing begins: at once, beside what follows, or once someone waits for it.
enum class HashingBegins { now, when_awaited };

/// Hashes a state that nobody changes until this has gone.
class EndHashes {
 public:
  /// `state` must outlive it.
  EndHashes(const engine::TrainingState& state, RunObserver& observer, HashingBegins begins);

  /// Waits; the observer is told from here on how much is hashed. Throws what reading the state
  /// throws.
  [[nodiscard]] engine::StateHashes wait();

 private:
  AmountShown show_;
  std::atomic<bool> awaited_ = false;  ///< Until then the terminal's line is another's.
  std::future<engine::StateHashes> hashes_;
};

}  // namespace sluice::profiler
