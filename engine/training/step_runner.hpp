// What the tasks of a step do: copies, compute and updates go to the device; the few that belong to
// no device (data, launch, grads) are done here.
#pragma once

#include <array>
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
#include "planner/models/job.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

/// What a step came to, as its `grads` task found it.
struct StepResult {
  double loss = 0;  ///< Mean cross-entropy of the step's targets.
  /// What the balancing of experts adds to it, mean over micro-batches; none where none is said.
  std::optional<double> balance_loss{};
  double grad_norm = 0;  ///< Global 2-norm of the unclipped gradient.
  double lr = 0;
  std::int64_t targets = 0;                     ///< Tokens that the loss is the mean of.
  std::int64_t padding = 0;                     ///< Positions without text.
  std::chrono::steady_clock::time_point end{};  ///< When `grads` ended.
};

/// Loss or gradient of a step stopped being numbers.
class Diverged : public BadRequest {
 public:
  /// `gradient_unit`: the last unit, and so the first in the order of backward, whose gradient is
  /// not finite.
  Diverged(std::int64_t step, bool loss, std::optional<std::size_t> gradient_unit,
           const std::string& where);
  [[nodiscard]] std::int64_t step() const { return step_; }
  [[nodiscard]] bool loss() const { return loss_; }  ///< Not finite already in forward.
  [[nodiscard]] std::optional<std::size_t> gradient_unit() const { return gradient_unit_; }

 private:
  std::int64_t step_;
  bool loss_;
  std::optional<std::size_t> gradient_unit_;
};

class StepRunner : public TaskRunner {
 public:
  /// lr of a step, counted from 1. Must not allocate.
  using LearningRate = std::function<double(std::int64_t step)>;

  /// All references must outlive the runner. `constants`, if any, is where the device looks for the
  /// optimizer's constants of a step. `disk`: null where no state lives there.
  StepRunner(const Program& program, Device& device, const planner::Job& job, TokenSource& tokens,
             LearningRate learning_rate, std::span<AdamWStep> constants = {},
             DiskStore* disk = nullptr);

  void enter_lane(planner::LaneKind lane) override { device_.enter_lane(lane); }
  /// Throws Diverged where loss or gradient stop being numbers.
  void run(std::uint32_t task, std::int64_t step) override;

  /// The program's step 1 is the run's step `before` + 1: it reads the sequences, takes the
  /// learning rate and makes the update of that one. Before the first run.
  void start_after(std::int64_t before) { before_ = before; }
  /// Makes room for the results of steps first..last, counted by the program. Between runs.
  void expect(std::int64_t first, std::int64_t last);
  /// Of an expected step whose `grads` has ended.
  [[nodiscard]] const StepResult& result(std::int64_t step) const {
    return results_[static_cast<std::size_t>(step - first_)];
  }

 private:
  void gather(const BoundTask& task, std::int64_t step);
  void reduce(const BoundTask& task, std::int64_t step);
  StepResult& expected(std::int64_t step) {
    return results_[static_cast<std::size_t>(step - first_)];
  }
  /// What the device's gradients, of sum / tokens of the step, lack to those of sum / targets.
  [[nodiscard]] double gradient_scale(const StepResult& result) const {
    return static_cast<double>(job_.tokens()) / static_cast<double>(result.targets);
  }

  /// Steps whose update constants are kept: an update may run while later steps have begun, but
  /// every step's forward waits for the updates of the step before it.
  AdamWStep& update_of(std::int64_t step) {
    return updates_[static_cast<std::size_t>(step) % updates_.size()];
  }

  const Program& program_;
  Device& device_;
  planner::Job job_;
  TokenSource& tokens_;
  LearningRate learning_rate_;
  DiskStore* disk_;
  std::array<AdamWStep, kStepsQueued> own_updates_{};
  std::span<AdamWStep> updates_;
  std::int64_t before_ = 0;
  std::int64_t first_ = 1;
  std::vector<StepResult> results_;
};

}  // namespace sluice::engine
