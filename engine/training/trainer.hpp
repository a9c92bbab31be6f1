// A training run: steps in chunks between evaluations and saves, a metrics line a step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/records/metrics.hpp"
#include "engine/training/session.hpp"

namespace sluice::engine {

/// Highest use of memory: arenas as touched by the run's tasks, process as the system reports it.
struct MemoryPeaks {
  Bytes device{0};
  Bytes host{0};
  Bytes resident{0};
  Bytes locked{0};
};

/// After which steps training stops for something else. A stop changes no bits.
struct TrainingStops {
  std::int64_t steps = 0;           ///< Of the run.
  std::int64_t evaluate_every = 0;  ///< 0: at the end alone.
  std::int64_t save_every = 0;      ///< 0: never; the end is the caller's.
  bool evaluate_saves = false;      ///< Each save's loss is wanted.

  /// The first stop after `step`; `steps` is the last.
  [[nodiscard]] std::int64_t next(std::int64_t step) const;
  [[nodiscard]] bool evaluates_at(std::int64_t step) const;
  [[nodiscard]] bool saves_at(std::int64_t step) const;
};

struct TrainingOptions {
  TrainingStops stops;
  std::int64_t evaluation_windows = 0;  ///< At most; fewer where the validation text is shorter.
  Seconds predicted_step{0};
};

struct TrainingResult {
  std::int64_t steps = 0;                                   ///< Of the run that are done.
  double loss = 0;                                          ///< Of the last step.
  std::optional<double> balance_loss{};                     ///< Likewise, where there is one.
  std::vector<std::pair<std::int64_t, double>> validation;  ///< After which step, loss.
  std::vector<Seconds> step_times;
  std::vector<bool> undisturbed;  ///< Of each step: neither the first nor the second of its chunk.
  /// Of the steps that this run made: positions with text, without, and those the loss is of.
  std::int64_t useful_tokens = 0, padding_tokens = 0, target_tokens = 0;
  MemoryPeaks peaks;
  bool interrupted = false;
  /// Why steps stopped before the last: the disk does not take the state. What is in `Session` is
  /// whole, and stands after `steps`.
  std::optional<std::string> disk_failure{};

  /// Median time of the undisturbed steps, of all where there are none; none without steps.
  [[nodiscard]] std::optional<Seconds> median_step() const;
  /// After the last step, where it was evaluated.
  [[nodiscard]] std::optional<double> final_validation() const;
};

/// What a run tells while it runs, on the calling thread. What they throw stops the run. All may be
/// empty.
struct TrainingReports {
  /// The first step is about to begin: from here on there will be something to save.
  std::function<void()> begins;
  /// Fills in what only the caller measures (busy, moved bytes, MFU, sensors).
  std::function<void(StepMetrics&)> measure;
  /// Of each step, once it has ended.
  std::function<void(const StepMetrics&)> step;
  std::function<void(std::int64_t step, double loss)> validation;
  /// Of each step, once its line is written: with val_loss where there is one.
  std::function<void(const StepMetrics&)> logged;
  /// No step runs: the state may be read. After the metrics of all steps so far are on the disk.
  std::function<void(std::int64_t step, std::optional<double> val_loss)> save;
};

/// Trains `session` on `text` (which must be its token source) from where it stands. Stops at a
/// step boundary once `interrupted` is set or the disk fails, and in the middle of an evaluation.
/// Throws what tasks throw (Diverged with the layer, where it can be told), and EnvironmentError
/// where metrics cannot be written.
[[nodiscard]] TrainingResult train(Session& session, const planner::Job& job, WindowedText& text,
                                   const TrainingOptions& options, MetricsFile& metrics,
                                   const std::atomic<bool>& interrupted,
                                   const TrainingReports& reports);

}  // namespace sluice::engine
