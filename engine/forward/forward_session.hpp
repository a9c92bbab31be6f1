// Forward passes of a model on a device, ready to run: arenas, program, lanes.
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

/// What passes are of: fills in their tokens and takes what they end with.
class PassWork {
 public:
  virtual ~PassWork() = default;
  /// Before pass `pass`, counted from 1: `tokens` is the graph's token buffer on the host.
  virtual void fill(std::span<std::int32_t> tokens, std::int64_t pass) = 0;
  /// After it: loss sums (double) or logits (float). The next pass's `fill` may have been called
  /// where the goal is the loss, never where it is the next token.
  virtual void finish(std::span<const std::byte> result, std::int64_t pass) = 0;
};

/// Runs a graph of planner/graph/forward_graph.hpp. Owns everything that passes need, made once.
class ForwardSession : private TaskRunner {
 public:
  /// `work` must outlive the session; `graph` need not.
  ForwardSession(planner::ForwardGoal goal, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, PassWork& work);

  [[nodiscard]] Device& device() { return *device_; }
  /// Runs the passes that follow those already run, up to `last`; returns the last that ran.
  /// `pass_done`, if set, is called on this thread after each, while later ones go on. Throws what
  /// tasks throw.
  std::int64_t run_to(std::int64_t last,
                      const std::function<void(std::int64_t pass)>& pass_done = nullptr);
  /// From `pass_done`: no further pass begins.
  void request_stop() { executor_.request_stop(); }
  [[nodiscard]] Bytes touched(planner::Arena arena) const { return program_.touched(arena); }

 private:
  void enter_lane(planner::LaneKind lane) override { device_->enter_lane(lane); }
  void run(std::uint32_t task, std::int64_t pass) override;
  void load_experts(const BoundTask& task);

  planner::ForwardGoal goal_;
  std::unique_ptr<Device> device_;
  Program program_;
  std::vector<std::int32_t> routes_;  ///< Of the task that loads experts.
  BoundTask part_;                    ///< Of that task: neighbouring experts in one copy.
  PassWork& work_;
  std::unique_ptr<DeviceQueues> queues_;
  Executor executor_;  ///< Last: its lanes end before what they use.
  std::int64_t done_ = 0;
};

}  // namespace sluice::engine
