// Step graphs of a few tasks that touch no memory, to test execution without computation.
#pragma once

#include <string>
#include <vector>

#include "engine/execution/executor.hpp"
#include "engine/execution/program.hpp"

namespace sluice::engine::test {

using planner::LaneKind;
using planner::TaskKind;

/// A device with empty arenas that runs nothing.
class EmptyDevice : public Device {
 public:
  std::span<std::byte> arena(planner::Arena) override { return {}; }
  void enter_lane(LaneKind) override {}
  void run(const BoundTask&, const AdamWStep&, Pace) override {}
  double loss_only(const BoundTask&) override { return 0; }
  void read(const std::byte*, std::span<std::byte>) override {}
  void write(std::span<const std::byte>, std::byte*) override {}
  void clear(std::byte*, std::size_t) override {}
};

/// A task of the step with its predecessors in the same step and in the one before.
struct FakeTask {
  LaneKind lane;
  TaskKind kind = TaskKind::forward;
  std::vector<std::uint32_t> after = {};
  std::vector<std::uint32_t> after_previous = {};
  Bytes bytes{0};
};

inline planner::StepGraph fake_graph(const std::vector<FakeTask>& step) {
  planner::StepGraph graph;
  graph.tasks_per_step = step.size();
  const auto n = static_cast<std::uint32_t>(step.size());
  for (std::uint32_t number = 0; number < 3; ++number) {
    for (std::uint32_t i = 0; i < n; ++i) {
      sim::Task task;
      task.id = "s" + std::to_string(number + 1) + "/" + std::to_string(i);
      for (const std::uint32_t j : step[i].after) task.after.push_back(sim::TaskId(number * n + j));
      if (number > 0) {
        for (const std::uint32_t j : step[i].after_previous) {
          task.after.push_back(sim::TaskId((number - 1) * n + j));
        }
      }
      graph.graph.add_task(std::move(task));
      planner::StepTask what{.kind = step[i].kind, .lane = step[i].lane};
      what.step = static_cast<int>(number) + 1;
      what.bytes = step[i].bytes;
      graph.tasks.push_back(std::move(what));
    }
  }
  return graph;
}

}  // namespace sluice::engine::test
