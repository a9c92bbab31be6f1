// One run of training, from its folder to its report.
#pragma once

#include <atomic>

#include "engine/run_folders/run_folder.hpp"
#include "profiler/training/run_observer.hpp"
#include "profiler/training/run_promise.hpp"
#include "profiler/training/train_request.hpp"
#include "profiler/training/train_state.hpp"
#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// A run of training. Its constructor makes the run's folder and writes the prediction to it,
/// before anything is trained.
class TrainingRun {
 public:
  /// Prepares the run. `request`, `promise` and `observer` must outlive this object. Throws
  /// BadRequest if the folder, the checkpoint or the model's weights are refused, EnvironmentError
  /// if the folder cannot be written.
  TrainingRun(const TrainRequest& request, const RunPromise& promise, RunObserver& observer);
  TrainingRun(const TrainingRun&) = delete;  // Parts of it refer to others.
  TrainingRun& operator=(const TrainingRun&) = delete;

  [[nodiscard]] const RunStart& start() const { return start_; }

  /// Trains until the last step, or until `interrupted` is set and the current step has ended; then
  /// saves and writes the run's results. Returns false if it was interrupted before it made a step;
  /// its folder is then as it was before. Throws what training throws, and EnvironmentError if the
  /// disk did not take the state.
  [[nodiscard]] bool train(const std::atomic<bool>& interrupted);

  /// Prediction and results of the run; complete once train() has returned.
  [[nodiscard]] const TrainedRun& trained() const { return run_; }
  /// Whether the trained state should have been saved at the end and was not.
  [[nodiscard]] bool lost() const {
    const bool writes = !request_.options.rank || request_.options.rank->is_first();
    return writes && request_.options.saves && !run_.checkpoint;
  }

 private:
  void write_result();

  const TrainRequest& request_;
  RunObserver& observer_;
  RunIdentity identity_;
  RunStart start_;
  engine::RunFolder folder_;
  /// Restores the folder if the run's start fails; outlives whatever holds files in the folder
  /// open.
  engine::RunBeginning beginning_;
  TrainedRun run_;
};

}  // namespace sluice::profiler
