// A training run: steps in chunks between evaluations, a metrics line a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/data.hpp"
#include "engine/metrics.hpp"
#include "engine/session.hpp"

namespace sluice::engine {

/// Highest use of memory: arenas as touched by the run's tasks, process as the system reports it.
struct MemoryPeaks {
  Bytes device{0};
  Bytes host{0};
  Bytes resident{0};
  Bytes locked{0};
};

struct TrainingOptions {
  std::int64_t steps = 0;
  std::int64_t evaluate_every = 0;      ///< After its multiples; at the end in any case.
  std::int64_t evaluation_windows = 0;  ///< At most; fewer where the validation text is shorter.
  Seconds predicted_step{0};
};

struct TrainingResult {
  std::int64_t steps = 0;                                   ///< Of the run that are done.
  double loss = 0;                                          ///< Of the last step.
  std::vector<std::pair<std::int64_t, double>> validation;  ///< After which step, loss.
  std::vector<Seconds> step_times;
  std::vector<bool> undisturbed;  ///< Of each step: neither the first nor the second of its chunk.
  /// Of the steps that this run made: positions with text, without, and those the loss is of.
  std::int64_t useful_tokens = 0, padding_tokens = 0, target_tokens = 0;
  MemoryPeaks peaks;
  bool interrupted = false;

  /// Median time of the undisturbed steps, of all where there are none; none without steps.
  [[nodiscard]] std::optional<Seconds> median_step() const;
};

/// What a run tells while it runs, on the calling thread. What they throw stops the run.
struct TrainingReports {
  std::function<void(const StepMetrics&)> step;
  std::function<void(std::int64_t step, double loss)> validation;
};

/// Trains `session` on `text` (which must be its token source) from where it stands. Stops at a
/// step boundary once `interrupted` is set. Throws what tasks throw, and EnvironmentError where
/// metrics cannot be written.
[[nodiscard]] TrainingResult train(Session& session, const planner::Job& job, WindowedText& text,
                                   const TrainingOptions& options, MetricsFile& metrics,
                                   const std::atomic<bool>& interrupted,
                                   const TrainingReports& reports);

}  // namespace sluice::engine
