// One run of training, from its folder to its report.
#pragma once

#include <atomic>

#include "engine/records/run_folder.hpp"
#include "profiler/training/run_observer.hpp"
#include "profiler/training/run_promise.hpp"
#include "profiler/training/train_request.hpp"
#include "profiler/training/train_state.hpp"
#include "profiler/training/trained_run.hpp"

namespace sluice::profiler {

/// A run of training. Its folder is made, and holds what was promised, before it trains.
class TrainingRun {
 public:
  /// `request`, `promise` and `observer` outlive it. Throws BadRequest where the folder, the
  /// checkpoint or the model's weights are refused, EnvironmentError where the folder cannot be
  /// written.
  TrainingRun(const TrainRequest& request, const RunPromise& promise, RunObserver& observer);
  TrainingRun(const TrainingRun&) = delete;  // Parts of it refer to others.
  TrainingRun& operator=(const TrainingRun&) = delete;

  [[nodiscard]] const RunStart& start() const { return start_; }

  /// Trains until the last step, or until `interrupted` is set and the step that runs has ended;
  /// then saves and writes what the run came to. False where it was interrupted before it made a
  /// step: its folder is as it was before. Throws what training throws, and EnvironmentError where
  /// the disk did not take the state.
  [[nodiscard]] bool train(const std::atomic<bool>& interrupted);

  /// What the run came to.
  [[nodiscard]] const TrainedRun& trained() const { return run_; }
  /// Whether what was trained should lie on the disk and does not.
  [[nodiscard]] bool lost() const { return request_.options.saves && !run_.checkpoint; }

 private:
  void write_result();

  const TrainRequest& request_;
  RunObserver& observer_;
  RunIdentity identity_;
  RunStart start_;
  engine::RunFolder folder_;
  engine::RunBeginning beginning_;  ///< What has files open in the folder goes before it.
  TrainedRun run_;
};

}  // namespace sluice::profiler
