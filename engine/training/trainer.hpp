// A training run: steps in chunks between evaluations and saves, with one line of metrics per step.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/datasets/data.hpp"
#include "engine/run_folders/metrics.hpp"
#include "engine/training/session.hpp"

namespace sluice::engine {

/// Peak memory use: arenas as the run's tasks touch them, process memory as the system reports it.
struct MemoryPeaks {
  Bytes device{0};
  Bytes host{0};
  Bytes resident{0};
  Bytes locked{0};
};

/// Steps after which training pauses for an evaluation or a save. Pauses change no bits.
struct TrainingStops {
  std::int64_t steps = 0;  ///< Number of steps of the run.
  /// Steps between evaluations; 0: only before and after the run.
  std::int64_t evaluate_every = 0;
  /// Steps from one save to the next; 0: never. The caller saves at the end.
  std::int64_t save_every = 0;
  bool evaluate_saves = false;  ///< Whether training also evaluates at each save.

  /// The first pause after `step`; the last is `steps`.
  [[nodiscard]] std::int64_t next(std::int64_t step) const;
  [[nodiscard]] bool evaluates_at(std::int64_t step) const;
  [[nodiscard]] bool saves_at(std::int64_t step) const;
};

struct TrainingOptions {
  TrainingStops stops;
  /// Largest number of windows to evaluate; fewer if the validation text is shorter.
  std::int64_t evaluation_windows = 0;
  Seconds predicted_step{0};
  /// Set where ranks are processes: a wish to stop, or a disk's failure, of one ends all of them
  /// after the same step.
  RankLinks links{};
};

struct TrainingResult {
  /// Number of the run's steps that are done.
  std::int64_t steps = 0;
  double loss = 0;  ///< Loss of the last step that had a target.
  /// Load-balancing loss of the last step that had a target; none for models without it.
  std::optional<double> balance_loss{};
  std::vector<std::pair<std::int64_t, double>> validation;  ///< Step and loss of each evaluation.
  std::vector<Seconds> step_times;
  /// For each step, whether it is neither the first nor the second after a pause, whose times are
  /// not those of steps that follow one another.
  std::vector<bool> undisturbed;
  /// Numbers of positions in the steps of this program: with text, without text, and those that the
  /// loss is the mean of.
  std::int64_t useful_tokens = 0, padding_tokens = 0, target_tokens = 0;
  /// Steps of this program that had no target and made no update.
  std::int64_t skipped_steps = 0;
  MemoryPeaks peaks;
  bool interrupted = false;
  /// Why training stopped early: the disk refused a part of the state. The session's state is
  /// complete nevertheless, as after `steps` steps.
  std::optional<std::string> disk_failure{};

  /// Median time of the undisturbed steps, or of all steps if none is undisturbed; none without
  /// steps.
  [[nodiscard]] std::optional<Seconds> median_step() const;
  /// Validation loss after the run's last step done, if it was evaluated.
  [[nodiscard]] std::optional<double> final_validation() const;
};

/// Callbacks during a run, on the calling thread. An exception from one stops the run. All may be
/// empty.
struct TrainingReports {
  /// Called when the first step is about to begin; from then on there is something to save.
  std::function<void()> begins;
  /// Fills in what only the caller measures (busy, moved bytes, MFU, sensors).
  std::function<void(StepMetrics&)> measure;
  /// Called for each step once it has ended.
  std::function<void(const StepMetrics&)> step;
  std::function<void(std::int64_t step, double loss)> validation;
  /// Called for each step once its line of metrics is written; includes val_loss if the step was
  /// evaluated.
  std::function<void(const StepMetrics&)> logged;
  /// Called to save the state while no step runs, after the metrics of all steps so far were
  /// flushed to the disk, which may have refused them.
  std::function<void(std::int64_t step, std::optional<double> val_loss)> save;
};

/// Trains `session` on `text` (which must be its token source) from its current step. Stops at a
/// step boundary or within an evaluation once `interrupted` is set, and at a step boundary if the
/// disk fails. Throws what tasks throw (Diverged with the layer, if it can be found), and
/// EnvironmentError if metrics cannot be written.
[[nodiscard]] TrainingResult train(Session& session, const planner::Job& job, WindowedText& text,
                                   const TrainingOptions& options, MetricsFile& metrics,
                                   const std::atomic<bool>& interrupted,
                                   const TrainingReports& reports);

}  // namespace sluice::engine
