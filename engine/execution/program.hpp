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

/// What a task of the program waits for: `task` is the index of another task in the program;
/// `distance` is 0 if that task must have ended in the same step, 1 if in the step before.
struct Dependency {
  std::uint32_t task;
  std::uint32_t distance;
};

/// The tasks of one training step, which every step repeats, with their addresses, the tasks they
/// wait for, and the order of each lane. They are those of the second of a step graph's three
/// steps.
class Program {
 public:
  /// Takes the tasks of one step from `graph`, whose three steps must be alike, and binds every
  /// access to an address in `device`'s arenas. In a rehearsal `window` gives the offsets in the
  /// host arena, which is smaller than the layout's. Throws std::logic_error if the graph does not
  /// hold three steps of equally many tasks, a task waits for a later step, or an access lies
  /// outside its tensor or arena. `rank`: the rank, of graph.ranks, whose device it is.
  Program(const planner::StepGraph& graph, Device& device,
          const planner::HostWindow* window = nullptr, int rank = 0);

  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] const BoundTask& task(std::uint32_t index) const { return tasks_[index]; }
  /// Name of a task without its step, such as "r0/fwd/layers.3/m1": round, kind, unit, micro-batch.
  [[nodiscard]] const std::string& name(std::uint32_t index) const { return names_[index]; }
  [[nodiscard]] const std::vector<BoundTask>& tasks() const { return tasks_; }
  [[nodiscard]] const std::vector<Dependency>& after(std::uint32_t index) const {
    return after_[index];
  }
  /// Indices of a lane's tasks in the order in which the lane runs them in every step.
  [[nodiscard]] const std::vector<std::uint32_t>& lane(planner::LaneKind lane) const {
    return lanes_[static_cast<std::size_t>(lane)];
  }
  /// Indices of all tasks in an order in which each task comes after the tasks of the same step
  /// that it waits for, and after those that its lane runs before it.
  [[nodiscard]] const std::vector<std::uint32_t>& topological_order() const { return order_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// Index of the step's `grads` task, at whose end all gradients and their norm are known.
  [[nodiscard]] std::uint32_t grads() const { return grads_; }
  /// Number of bytes of an arena that the program uses: the end of the highest range that any task
  /// touches, rounded up to kPlacementAlign.
  [[nodiscard]] Bytes touched(planner::Arena arena) const {
    return touched_[static_cast<std::size_t>(arena)];
  }

 private:
  void bind(const planner::StepGraph& graph, std::size_t task, Device& device,
            const planner::HostWindow* window);
  void order_tasks();
  /// First parameter of the rank's slice of the unit that `task` updates.
  [[nodiscard]] std::int64_t first_of_rank(const planner::StepGraph& graph,
                                           const planner::StepTask& task) const;

  int rank_;
  std::vector<BoundTask> tasks_;
  std::vector<std::string> names_;
  std::vector<std::vector<Dependency>> after_;
  std::array<std::vector<std::uint32_t>, planner::kLaneKinds> lanes_;
  std::vector<std::uint32_t> order_;
  std::uint32_t grads_ = 0;
  std::array<Bytes, planner::kArenas> touched_{};
};

}  // namespace sluice::engine
