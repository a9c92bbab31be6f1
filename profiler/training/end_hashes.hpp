// Hashes of a run's last state, which are computed while its checkpoint is written.
#pragma once

#include <atomic>
#include <future>

#include "engine/state/training_state.hpp"
#include "profiler/training/run_observer.hpp"

namespace sluice::profiler {

/// When hashing begins: at once and concurrently, or only when the result is asked for.
enum class HashingBegins { now, when_awaited };

/// Computes the hashes of a state, which must not change during this object's lifetime.
class EndHashes {
 public:
  /// Hashes `state`, which must outlive this object, from now on or only in wait(), as `begins`
  /// says; shows progress through `observer`.
  EndHashes(const engine::TrainingState& state, RunObserver& observer, HashingBegins begins);

  /// Waits for the hashes and returns them; from now on the observer is told how much is hashed.
  /// Throws what reading the state throws.
  [[nodiscard]] engine::StateHashes wait();

 private:
  AmountShown show_;
  /// Whether wait() was called. Progress is shown only from then on, because before that the run
  /// prints other progress.
  std::atomic<bool> awaited_ = false;
  std::future<engine::StateHashes> hashes_;
};

}  // namespace sluice::profiler
