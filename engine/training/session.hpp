// A training session: a job under a plan on a device, with arenas, program, state and lanes, ready
// to run steps.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "engine/disk/disk_store.hpp"
#include "engine/execution/executor.hpp"
#include "engine/state/training_state.hpp"
#include "engine/training/evaluation.hpp"
#include "engine/training/step_runner.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Owns everything that running steps needs. All of it is allocated at construction in the plan's
/// sizes, and nothing is allocated while steps run. Used by both training and measuring (autotune).
class Session {
 public:
  /// `tokens` and `observer` (may be null) must outlive the session; `graph` need not. The state
  /// starts with initial `weights` or is loaded from `state`, which need not outlive the call.
  /// `place`: where the disk file goes.
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, StepRunner::LearningRate learning_rate,
          const InitialWeights& weights, Observer* observer = nullptr, const DiskPlace& place = {});
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, StepRunner::LearningRate learning_rate, const LoadedState& state,
          Observer* observer = nullptr, const DiskPlace& place = {});

  using StepDone = std::function<void(std::int64_t step, const StepResult& result)>;
  /// Declares that the state is that of a run after `step` steps, and continues from there. Call it
  /// before the first run; observers count steps from here.
  void continue_after(std::int64_t step);
  /// Runs the next steps up to `last`; returns the last step that ran (smaller after
  /// `request_stop`). `step_done` is called on this thread once a step's gradient norm is known
  /// (its `grads` task has ended).
  std::int64_t run_to(std::int64_t last, const StepDone& step_done = nullptr);
  /// Whether a failed step leaves the weights as they were before it, which holds if updates wait
  /// for the step's gradient norm.
  [[nodiscard]] bool keeps_weights_on_failure() const;
  /// Prevents further steps from beginning. Call it from `step_done`.
  void request_stop() { executor_.request_stop(); }
  /// Replaces the observer; call it only while no steps run.
  void observe(Observer* observer) { executor_.observe(observer); }

  /// Converts `point` to the clock of the events that observers get.
  [[nodiscard]] Instant instant(std::chrono::steady_clock::time_point point) const {
    return executor_.instant(point);
  }
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  [[nodiscard]] TrainingState& state() { return state_; }
  /// The disk file; null if no state lies on the disk.
  [[nodiscard]] const DiskStore* disk() const { return disk_.get(); }
  /// Why the disk refused a part of the state; none if it did not. The state is complete
  /// nevertheless (engine/disk).
  [[nodiscard]] std::optional<std::string> disk_failure() const {
    return disk_ ? disk_->failure() : std::nullopt;
  }
  [[nodiscard]] Evaluation& evaluation() { return evaluation_; }
  /// Bytes of an arena up to the last one that the run's tasks touch.
  [[nodiscard]] Bytes touched(planner::Arena arena) const { return program_.touched(arena); }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, StepRunner::LearningRate learning_rate, Observer* observer,
          const DiskPlace& place);

  bool clips_;
  std::unique_ptr<Device> device_;
  Program program_;
  std::unique_ptr<DiskStore> disk_;  ///< Disk file; null if no state lies on the disk.
  TrainingState state_;
  Evaluation evaluation_;
  std::unique_ptr<DeviceQueues> queues_;
  StepRunner runner_;
  /// Declared last, because the executor's lanes must end before the members that they use are
  /// destroyed.
  Executor executor_;
  std::int64_t before_ = 0;  ///< Number of the run's steps that earlier programs made.
  std::int64_t steps_done_ = 0;
};

}  // namespace sluice::engine
