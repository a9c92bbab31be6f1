#include "profiler/traces/lane_meter.hpp"

#include <algorithm>

namespace sluice::profiler {

LaneMeter::LaneMeter(const planner::StepGraph& graph, engine::Observer& next) : next_(next) {
  tasks_.reserve(graph.tasks_per_step);
  // The engine runs the second step of a graph again and again.
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const planner::StepTask& task = graph.tasks[graph.tasks_per_step + i];
    tasks_.push_back({task.lane, task.bytes.count()});
    lanes_[static_cast<std::size_t>(task.lane)].used = true;
  }
}

void LaneMeter::task_ran(const engine::TaskEvent& event) {
  const TaskLane& task = tasks_[event.task];
  Counters& lane = lanes_[static_cast<std::size_t>(task.lane)];
  lane.nanoseconds.fetch_add((event.end - event.start).count(), std::memory_order_relaxed);
  lane.bytes.fetch_add(task.bytes, std::memory_order_relaxed);
  next_.task_ran(event);
}

void LaneMeter::read(engine::StepMetrics& line) {
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    if (!lanes_[i].used) continue;
    const std::int64_t nanoseconds = lanes_[i].nanoseconds.exchange(0);
    const double seconds = 1e-9 * static_cast<double>(nanoseconds);
    line.busy[i] = std::clamp(seconds / line.step_time.count(), 0.0, 1.0);
    const Bytes bytes(lanes_[i].bytes.exchange(0));
    if (static_cast<planner::LaneKind>(i) == planner::LaneKind::h2d) line.to_device = bytes;
    if (static_cast<planner::LaneKind>(i) == planner::LaneKind::d2h) line.to_host = bytes;
    if (static_cast<planner::LaneKind>(i) == planner::LaneKind::disk_read) line.from_disk = bytes;
    if (static_cast<planner::LaneKind>(i) == planner::LaneKind::disk_write) line.to_disk = bytes;
  }
}

}  // namespace sluice::profiler
