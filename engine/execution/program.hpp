// The program of one step: a step graph's periodic template, bound to addresses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/execution/device.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/layout/host_window.hpp"

namespace sluice::engine {

/// A predecessor in the step template: in the same step (distance 0) or the one before (distance
/// 1).
struct Dependency {
  std::uint32_t task;
  std::uint32_t distance;
};

/// What all steps have in common: tasks of step 2 of a step graph, their predecessors and lane
/// order.
class Program {
 public:
  /// Derives the template and resolves every access to an address in `device`'s arenas; where there
  /// is a `window`, the host arena is that. Throws std::logic_error where the graph is not periodic
  /// or an access leaves its tensor or arena.
  Program(const planner::StepGraph& graph, Device& device,
          const planner::HostWindow* window = nullptr);

  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] const BoundTask& task(std::uint32_t index) const { return tasks_[index]; }
  /// As in the plan's graph, without the step: "r0/fwd/layers.3/m1".
  [[nodiscard]] const std::string& name(std::uint32_t index) const { return names_[index]; }
  [[nodiscard]] const std::vector<BoundTask>& tasks() const { return tasks_; }
  [[nodiscard]] const std::vector<Dependency>& after(std::uint32_t index) const {
    return after_[index];
  }
  /// Tasks of one lane in the order the lane runs them, every step.
  [[nodiscard]] const std::vector<std::uint32_t>& lane(planner::LaneKind lane) const {
    return lanes_[static_cast<std::size_t>(lane)];
  }
  /// All tasks, predecessors of the same step and earlier tasks of the lane first.
  [[nodiscard]] const std::vector<std::uint32_t>& topological_order() const { return order_; }
  /// The step's `grads` task.
  [[nodiscard]] std::uint32_t grads() const { return grads_; }
  /// End of the last unit of kPlacementAlign bytes that any task touches in an arena: the peak of a
  /// run.
  [[nodiscard]] Bytes touched(planner::Arena arena) const {
    return touched_[static_cast<std::size_t>(arena)];
  }

 private:
  void bind(const planner::StepGraph& graph, std::size_t task, Device& device,
            const planner::HostWindow* window);
  void order_tasks();

  std::vector<BoundTask> tasks_;
  std::vector<std::string> names_;
  std::vector<std::vector<Dependency>> after_;
  std::array<std::vector<std::uint32_t>, planner::kLaneKinds> lanes_;
  std::vector<std::uint32_t> order_;
  std::uint32_t grads_ = 0;
  std::array<Bytes, planner::kArenas> touched_{};
};

}  // namespace sluice::engine
