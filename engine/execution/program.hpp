// The program of one step: the tasks that every step repeats, bound to addresses.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/execution/device.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/layout/host_window.hpp"

namespace sluice::engine {

/// A task that another task waits for: `task` is its index in the program; `distance` is 0 if it
/// belongs to the same step, 1 if to the step before.
struct Dependency {
  std::uint32_t task;
  std::uint32_t distance;
};

/// The tasks of one step, which every step repeats, with their addresses, predecessors and lane
/// order. They are those of step 2 of a step graph.
class Program {
 public:
  /// Takes the tasks of one step from `graph`, whose three steps must be alike, and binds every
  /// access to an address in `device`'s arenas. In a rehearsal `window` gives the offsets in the
  /// host arena, which is smaller than the layout's. Throws std::logic_error if the steps differ or
  /// an access lies outside its tensor or arena.
  Program(const planner::StepGraph& graph, Device& device,
          const planner::HostWindow* window = nullptr);

  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] const BoundTask& task(std::uint32_t index) const { return tasks_[index]; }
  /// Name of a task as in the plan's graph, without the step: "r0/fwd/layers.3/m1".
  [[nodiscard]] const std::string& name(std::uint32_t index) const { return names_[index]; }
  [[nodiscard]] const std::vector<BoundTask>& tasks() const { return tasks_; }
  [[nodiscard]] const std::vector<Dependency>& after(std::uint32_t index) const {
    return after_[index];
  }
  /// Indices of a lane's tasks in the order in which the lane runs them in every step.
  [[nodiscard]] const std::vector<std::uint32_t>& lane(planner::LaneKind lane) const {
    return lanes_[static_cast<std::size_t>(lane)];
  }
  /// Indices of all tasks in an order in which each task follows its predecessors of the same step
  /// and the earlier tasks of its lane.
  [[nodiscard]] const std::vector<std::uint32_t>& topological_order() const { return order_; }
  /// Index of the step's `grads` task, at whose end the step's last gradient and the gradient norm
  /// are known.
  [[nodiscard]] std::uint32_t grads() const { return grads_; }
  /// Peak use of an arena: end of the highest range of kPlacementAlign bytes that any task touches.
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
