// A training session: a job under a plan on a device, with arenas, program, state and lanes, ready
// to run steps.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/disk/disk_store.hpp"
#include "engine/ranks/agreement.hpp"
#include "engine/ranks/thread_ranks.hpp"
#include "engine/state/training_state.hpp"
#include "engine/training/evaluation.hpp"
#include "engine/training/rank_session.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// The ranks of a session that are in this process.
struct SessionRanks {
  /// A device for each: one where the graph has one rank or `links` are set, else one for each of
  /// the graph's ranks, which are then threads of this process.
  std::vector<std::unique_ptr<Device>> devices{};
  /// Who observes each rank's tasks; may be null, and may be fewer than there are ranks.
  std::vector<Observer*> observers{};
  /// Set where ranks are processes: this one's connections, which must outlive the session.
  RankLinks links{};
  /// What all processes must have in common beside the job, such as plan hash and numerics id:
  /// compared before anything is allocated.
  std::vector<AgreedFact> agreed{};
  /// How long threads wait for one another before all end.
  std::chrono::milliseconds patience = kUsualPatience;
};

/// Owns everything that running steps needs. All of it is allocated at construction in the plan's
/// sizes, and nothing is allocated while steps run. Used by both training and measuring (autotune).
class Session {
 public:
  /// `tokens` and `observer` (may be null) must outlive the session; `graph` need not. The state
  /// starts with initial `weights` or is loaded from `state`, which need not outlive the call.
  /// `place`: where the disk file goes.
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
          const InitialWeights& weights, Observer* observer = nullptr, const DiskPlace& place = {});
  Session(const planner::Job& job, const planner::StepGraph& graph, std::unique_ptr<Device> device,
          TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
          const LoadedState& state, Observer* observer = nullptr, const DiskPlace& place = {});
  /// Sessions of a graph of several ranks. If one rank fails, all end, and what it threw is
  /// rethrown. Throws BadRequest naming the first process whose job or other agreed fact differs
  /// from the first rank's.
  Session(const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
          TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
          const InitialWeights& weights, const DiskPlace& place = {});
  Session(const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
          TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
          const LoadedState& state, const DiskPlace& place = {});

  using StepDone = std::function<void(std::int64_t step, const StepResult& result)>;
  /// Declares that the state is that of a run after `step` steps, and continues from there. Call it
  /// before the first run; observers count steps from here.
  void continue_after(std::int64_t step);
  /// Sets the seed that stochastic rounding of moments depends on. Call it before the first run.
  void round_by(std::uint64_t seed);
  /// Runs the next steps up to `last`; returns the last step that ran (smaller after
  /// `request_stop`). `step_done` is called on this thread once a step's gradient norm is known
  /// (its `grads` task has ended).
  std::int64_t run_to(std::int64_t last, const StepDone& step_done = nullptr);
  /// Whether a failed step leaves the weights as they were before it, which holds if updates wait
  /// for the step's gradient norm.
  [[nodiscard]] bool keeps_weights_on_failure() const;
  /// Prevents further steps from beginning; several ranks agree on the last one at the end of one
  /// that runs, and begin one more. Call it from `step_done`.
  void request_stop() { ranks_.front()->request_stop(); }
  /// Replaces the observer of the first rank; call it only while no steps run.
  void observe(Observer* observer) { ranks_.front()->executor.observe(observer); }

  /// Converts `point` to the clock of the events that observers get.
  [[nodiscard]] Instant instant(std::chrono::steady_clock::time_point point) const {
    return ranks_.front()->executor.instant(point);
  }
  /// How much later than the first rank's the clock began of the events that the rank with index
  /// `index` in this process reports.
  [[nodiscard]] Duration clock_of(std::size_t index) const {
    const auto now = std::chrono::steady_clock::now();
    return ranks_.front()->executor.instant(now) - ranks_[index]->executor.instant(now);
  }
  [[nodiscard]] std::int64_t steps_done() const { return steps_done_; }
  /// The state of all ranks of this process.
  [[nodiscard]] TrainingState& state() { return state_; }
  /// Bytes written to the disk by the ranks of this process.
  [[nodiscard]] Bytes disk_written() const;
  /// The disk file of the first rank of this process; null if no state lies on the disk.
  [[nodiscard]] const DiskStore* disk() const { return ranks_.front()->disk.get(); }
  /// Why the disk refused a part of the state of a rank of this process; none if it did not. The
  /// state is complete nevertheless (engine/disk).
  [[nodiscard]] std::optional<std::string> disk_failure() const;
  [[nodiscard]] Evaluation& evaluation() { return evaluation_; }
  /// Bytes of a rank's arena up to the last one that the run's tasks touch.
  [[nodiscard]] Bytes touched(planner::Arena arena) const;
  /// The program of the first rank of this process, or of the one with index `index`.
  [[nodiscard]] const Program& program(std::size_t index = 0) const {
    return ranks_[index]->program;
  }

 private:
  Session(const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
          TokenSource& tokens, const StepRunner::LearningRate& learning_rate,
          const DiskPlace& place);
  [[nodiscard]] std::vector<std::unique_ptr<RankSession>> sessions_of(
      const planner::Job& job, const planner::StepGraph& graph, SessionRanks ranks,
      const StepRunner::LearningRate& learning_rate, const DiskPlace& place);
  [[nodiscard]] std::vector<RankLinks> links() const;
  [[nodiscard]] std::vector<RankEvaluation*> evaluations() const;

  bool clips_;
  std::unique_ptr<ThreadRanks> threads_;  ///< Null unless ranks are threads.
  std::unique_ptr<TokenSource> tokens_;
  std::vector<std::unique_ptr<RankSession>> ranks_;  ///< Those of this process.
  TrainingState state_;
  Evaluation evaluation_;
  std::int64_t before_ = 0;  ///< Number of the run's steps that earlier programs made.
  std::int64_t steps_done_ = 0;
};

}  // namespace sluice::engine
