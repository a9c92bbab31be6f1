// A job under a plan on a device, ready to run steps: arenas, program, state, lanes.
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

/// Owns everything that running steps needs, made once at plan sizes. While steps run nothing
/// allocates. Training and measuring (autotune) use it alike.
class Session {
 public:
  /// `tokens` and `observer` (may be null) must outlive the session; `graph` need not. The state
  /// starts with initial `weights`, or as it was kept elsewhere; that need not outlive the call.
  /// `place`: of what lives on the disk.
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, StepRunner::LearningRate learning_rate,
          const InitialWeights& weights, Observer* observer = nullptr, const DiskPlace& place = {});
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, StepRunner::LearningRate learning_rate, const LoadedState& state,
          Observer* observer = nullptr, const DiskPlace& place = {});

  using StepDone = std::function<void(std::int64_t step, const StepResult& result)>;
  /// The state is that of a run after `step` steps, which goes on from there. Before the first run;
  /// observers count steps from here.
  void continue_after(std::int64_t step);
  /// Runs the next steps up to `last`; returns the last step that ran (smaller after
  /// `request_stop`). `step_done` is called on this thread after each step's `grads`.
  std::int64_t run_to(std::int64_t last, const StepDone& step_done = nullptr);
  /// Whether weights are those before the step that failed: where updates wait for its norm.
  [[nodiscard]] bool keeps_weights_on_failure() const;
  /// From `step_done`: no further step begins.
  void request_stop() { executor_.request_stop(); }
  /// Replaces the observer. Not while steps run.
  void observe(Observer* observer) { executor_.observe(observer); }

  /// `point` on the clock of the events that observers get.
  [[nodiscard]] Instant instant(std::chrono::steady_clock::time_point point) const {
    return executor_.instant(point);
  }
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  [[nodiscard]] TrainingState& state() { return state_; }
  /// Null where no state lives on the disk.
  [[nodiscard]] const DiskStore* disk() const { return disk_.get(); }
  /// Why the disk did not take some of the state, which is whole all the same (engine/disk).
  [[nodiscard]] std::optional<std::string> disk_failure() const {
    return disk_ ? disk_->failure() : std::nullopt;
  }
  [[nodiscard]] Evaluation& evaluation() { return evaluation_; }
  /// Bytes of an arena that the run's tasks touch, from its start to the last of them.
  [[nodiscard]] Bytes touched(planner::Arena arena) const { return program_.touched(arena); }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, StepRunner::LearningRate learning_rate, Observer* observer,
          const DiskPlace& place);

  bool clips_;
  std::unique_ptr<Device> device_;
  Program program_;
  std::unique_ptr<DiskStore> disk_;  ///< Null where no state lives on the disk.
  TrainingState state_;
  Evaluation evaluation_;
  std::unique_ptr<DeviceQueues> queues_;
  StepRunner runner_;
  Executor executor_;        ///< Last: its lanes end before what they use.
  std::int64_t before_ = 0;  ///< Steps of the run that the program did not make.
  std::int64_t steps_done_ = 0;
};

}  // namespace sluice::engine
