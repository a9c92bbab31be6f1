// Hashes of a run's last state, computed while its checkpoint is written.
#pragma once

#include <atomic>
#include <future>

#include "cli/shown/amount_bar.hpp"
#include "engine/state/training_state.hpp"

namespace sluice::cli {

/// When hashing begins: at once, concurrently with what follows, or when the result is asked for.
enum class HashingBegins { now, when_awaited };

/// Hashes a state, which must not change during this object's lifetime.
class EndHashes {
 public:
  /// `state` must outlive this object.
  EndHashes(const engine::TrainingState& state, HashingBegins begins);

  /// Waits for the hashes, showing a bar. Throws what reading the state throws.
  [[nodiscard]] engine::StateHashes wait();

 private:
  AmountBar bar_{"hashing the trained state"};
  /// Whether the result was asked for; before that the terminal's line belongs to others.
  std::atomic<bool> awaited_ = false;
  std::future<engine::StateHashes> hashes_;
};

}  // namespace sluice::cli
