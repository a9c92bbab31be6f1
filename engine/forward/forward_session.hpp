// Forward passes of a model on a device: arenas, program and lanes, ready to run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/execution/executor.hpp"
#include "engine/forward/forward_weights.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/plans/forward_plan.hpp"

namespace sluice::engine {

/// Supplies the tokens of forward passes and receives their results.
class PassWork {
 public:
  virtual ~PassWork() = default;
  /// Called before pass `pass` (from 1) to fill `tokens`, the graph's token buffer on the host.
  virtual void fill(std::span<std::int32_t> tokens, std::int64_t pass) = 0;
  /// Called after pass `pass` with its result: loss sums (double) or logits (float). With
  /// ForwardGoal::loss, the next pass's `fill` may already have been called; with
  /// ForwardGoal::next_token it never has.
  virtual void finish(std::span<const std::byte> result, std::int64_t pass) = 0;
};

/// Runs forward passes: a graph of planner/graph/forward_graph.hpp on a device. Owns everything
/// that passes need; all of it is allocated once.
class ForwardSession : private TaskRunner {
 public:
  /// `work` must outlive the session; `graph` need not.
  ForwardSession(planner::ForwardGoal goal, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, PassWork& work);

  [[nodiscard]] Device& device() { return *device_; }
  /// Runs all passes up to `last` that have not run yet; returns the last that ran. `pass_done`, if
  /// set, is called on this thread after each pass, while later ones go on. Throws what tasks
  /// throw.
  std::int64_t run_to(std::int64_t last,
                      const std::function<void(std::int64_t pass)>& pass_done = nullptr);
  /// Prevents further passes from beginning. Call it from `pass_done`.
  void request_stop() { executor_.request_stop(); }
  [[nodiscard]] Bytes touched(planner::Arena arena) const { return program_.touched(arena); }

 private:
  void enter_lane(planner::LaneKind lane) override { device_->enter_lane(lane); }
  void run(std::uint32_t task, std::int64_t pass) override;
  void load_experts(const BoundTask& task);

  planner::ForwardGoal goal_;
  std::unique_ptr<Device> device_;
  Program program_;
  /// Number of routes before each expert's, then of all, [experts + 1], as the task that loads
  /// experts reads them.
  std::vector<std::int32_t> routes_;
  /// Copy of the task that loads experts, cut down to neighbouring experts moved in one copy.
  BoundTask part_;
  PassWork& work_;
  std::unique_ptr<DeviceQueues> queues_;
  /// Declared last, because the executor's lanes must end before the members that they use are
  /// destroyed.
  Executor executor_;
  std::int64_t done_ = 0;
};

}  // namespace sluice::engine
