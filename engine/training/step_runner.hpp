// Runs the tasks of a step: copies, compute and updates on the device; the tasks that belong to no
// device (data, launch, grads) itself.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/datasets/token_source.hpp"
#include "engine/disk/disk_store.hpp"
#include "engine/execution/executor.hpp"
#include "engine/ranks/rank_links.hpp"
#include "planner/models/job.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

/// Results of a step, computed by its `grads` task.
struct StepResult {
  double loss = 0;  ///< Mean cross-entropy of the step's targets; 0 without targets.
  /// Load-balancing loss of the experts, averaged over micro-batches; none for models without it.
  std::optional<double> balance_loss{};
  double grad_norm = 0;  ///< Global 2-norm of the unclipped gradient.
  double lr = 0;
  std::int64_t targets = 0;  ///< Number of tokens that the loss is the mean of; without one, the
                             ///< step updates nothing.
  std::int64_t padding = 0;  ///< Number of positions without text.
  std::chrono::steady_clock::time_point end{};  ///< When `grads` ended.
};

/// Error of a step whose loss or gradient is not finite.
class Diverged : public BadRequest {
 public:
  /// `gradient_unit`: the unit whose gradient is not finite; if there are several, the last, which
  /// is the first in backward order.
  Diverged(std::int64_t step, bool loss, std::optional<std::size_t> gradient_unit,
           const std::string& where);
  [[nodiscard]] std::int64_t step() const { return step_; }
  /// Whether the loss, and not only the gradient, is not finite.
  [[nodiscard]] bool loss() const { return loss_; }
  [[nodiscard]] std::optional<std::size_t> gradient_unit() const { return gradient_unit_; }

 private:
  std::int64_t step_;
  bool loss_;
  std::optional<std::size_t> gradient_unit_;
};

class StepRunner : public TaskRunner {
 public:
  /// Learning rate of a step, counted from 1. Must not allocate.
  using LearningRate = std::function<double(std::int64_t step)>;

  /// All references must outlive the runner. `constants`, if not empty, is where the device reads
  /// the optimizer's constants of a step. `disk` is null if no state lies on the disk. `links`:
  /// those of the program's rank.
  StepRunner(const Program& program, Device& device, const planner::Job& job, TokenSource& tokens,
             LearningRate learning_rate, std::span<AdamWStep> constants = {},
             DiskStore* disk = nullptr, const RankLinks& links = {});

  void enter_lane(planner::LaneKind lane) override { device_.enter_lane(lane); }
  /// Runs a task. Throws Diverged if loss or gradient are not finite.
  void run(std::uint32_t task, std::int64_t step) override;

  /// With several ranks: tells the others that no step is to begin but those that some rank may
  /// have begun. Call it from any thread, and see that every rank acts as `stops` says.
  void want_stop() { wants_stop_.store(true); }
  /// Sets what is called within a `grads` task once any rank wants to stop, with the last step that
  /// may begin, which is the same on all ranks.
  void on_stop(std::function<void(std::int64_t last)> stops) { stops_ = std::move(stops); }

  /// Makes the program's step 1 the run's step `before` + 1, with that step's sequences, learning
  /// rate and update. Call it before the first run.
  void start_after(std::int64_t before) { before_ = before; }
  /// Sets the seed of the run, which stochastic rounding of moments depends on. Call it before the
  /// first run.
  void round_by(std::uint64_t seed) { seed_ = seed; }
  /// Makes room for the results of steps first..last, counted by the program. Call it between runs.
  void expect(std::int64_t first, std::int64_t last);
  /// Result of a step announced by `expect` whose `grads` has ended.
  [[nodiscard]] const StepResult& result(std::int64_t step) const {
    return results_[static_cast<std::size_t>(step - first_)];
  }

 private:
  void run_task(const BoundTask& task, std::int64_t step);
  void gather(const BoundTask& task, std::int64_t step);
  /// Tells the other ranks whether this one wants to stop, and hears whether they do.
  void agree_to_stop(std::int64_t step);
  void reduce(const BoundTask& task, std::int64_t step);
  StepResult& expected(std::int64_t step) {
    return results_[static_cast<std::size_t>(step - first_)];
  }
  /// Factor that turns the device's gradients, of the summed loss over the step's tokens, into
  /// those of the mean loss of its targets; 0 without targets.
  [[nodiscard]] double gradient_scale(const StepResult& result) const {
    if (result.targets == 0) return 0;
    return static_cast<double>(job_.tokens()) / static_cast<double>(result.targets);
  }
  /// Sets the constants of a step's update, whose gradients are scaled by `scale`.
  void set_update(std::int64_t step, const StepResult& result, double scale);

  /// Optimizer constants of a step, in a ring: an update may still run when later steps have begun,
  /// but every step's forward pass waits for the updates of the step before it.
  AdamWStep& update_of(std::int64_t step) {
    return updates_[static_cast<std::size_t>(step) % updates_.size()];
  }

  const Program& program_;
  Device& device_;
  planner::Job job_;
  TokenSource& tokens_;
  LearningRate learning_rate_;
  DiskStore* disk_;
  RankLinks links_;
  World world_;
  std::atomic<bool> wants_stop_{false};
  std::function<void(std::int64_t)> stops_;
  /// Inputs, then targets, of a whole step, of which each of several ranks has a part.
  std::vector<std::int32_t> step_tokens_;
  std::uint64_t seed_ = 0;
  std::array<AdamWStep, kStepsQueued> own_updates_{};
  std::span<AdamWStep> updates_;
  std::int64_t before_ = 0;
  std::int64_t first_ = 1;
  std::vector<StepResult> results_;
};

}  // namespace sluice::engine
