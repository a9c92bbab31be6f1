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

/// What a ForwardSession computes on: supplies the tokens of each forward pass and receives its
/// results.
class PassWork {
 public:
  virtual ~PassWork() = default;
  /// Called before pass `pass` (from 1) to fill `tokens`, the graph's token buffer on the host: the
  /// pass's inputs and, with ForwardGoal::loss, behind them as many targets.
  virtual void fill(std::span<std::int32_t> tokens, std::int64_t pass) = 0;
  /// Called after pass `pass` with its result. With ForwardGoal::loss: the sum of each
  /// micro-batch's losses in nats, as doubles; the next pass's `fill` may already have been called.
  /// With ForwardGoal::next_token: the logits of the pass's last token, float [vocab]; it has not.
  virtual void finish(std::span<const std::byte> result, std::int64_t pass) = 0;
};

/// Runs forward passes of a model (a graph of planner/graph/forward_graph.hpp) on a device. Owns
/// everything that passes need; all of it is allocated once.
class ForwardSession : private TaskRunner {
 public:
  /// Prepares `device` to run the passes of `graph`, whose tokens come from `work`. `work` must
  /// outlive the session; `graph` need not.
  ForwardSession(planner::ForwardGoal goal, const planner::StepGraph& graph,
                 std::unique_ptr<Device> device, PassWork& work);

  [[nodiscard]] Device& device() { return *device_; }
  /// Number of passes that have run.
  [[nodiscard]] std::int64_t passes() const { return done_; }
  /// Runs all passes up to number `last` that have not run yet; returns the number of the last that
  /// ran. `pass_done`, if set, is called on the calling thread after each pass, while later ones go
  /// on. Throws what tasks throw.
  std::int64_t run_to(std::int64_t last,
                      const std::function<void(std::int64_t pass)>& pass_done = nullptr);
  /// Ends the current `run_to` early: passes that have begun are finished, and no others begin.
  /// Call it from `pass_done`.
  void request_stop() { executor_.request_stop(); }
  [[nodiscard]] Bytes touched(planner::Arena arena) const { return program_.touched(arena); }

 private:
  void enter_lane(planner::LaneKind lane) override { device_->enter_lane(lane); }
  void run(std::uint32_t task, std::int64_t pass) override;
  void load_experts(const BoundTask& task);

  planner::ForwardGoal goal_;
  std::unique_ptr<Device> device_;
  Program program_;
  /// Where each expert's routes (tokens sent to it) begin, [experts + 1]: number of routes to
  /// experts before it, and at the end of all. The task that loads experts leaves out those without
  /// a route.
  std::vector<std::int32_t> routes_;
  /// Copy of the task that loads experts, narrowed to a run of neighbouring experts, which one copy
  /// moves.
  BoundTask part_;
  PassWork& work_;
  std::unique_ptr<DeviceQueues> queues_;
  /// Runs the passes. Declared last, because its lanes' threads must end before the members that
  /// they use are destroyed.
  Executor executor_;
  std::int64_t done_ = 0;
};

}  // namespace sluice::engine
