// Meter of the busy time and bytes of each lane while a run goes on.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "engine/execution/observer.hpp"
#include "engine/run_folders/metrics.hpp"
#include "planner/graph/step_graph.hpp"

namespace sluice::profiler {

/// Observer that sums the spans and bytes of tasks by lane and passes every event on to the next
/// observer. Each lane writes its own counters.
class LaneMeter final : public engine::Observer {
 public:
  /// Meters steps of `graph` and passes events on to `next`, which must outlive the meter.
  LaneMeter(const planner::StepGraph& graph, engine::Observer& next);

  void task_ran(const engine::TaskEvent& event) override;
  void calls_begin(std::uint32_t task, std::int64_t step) override {
    next_.calls_begin(task, step);
  }
  void calls_end() override { next_.calls_end(); }

  /// Fills in `busy` and the bytes moved of `line`, a step that took `line.step_time`, and resets
  /// the counters. A task counts in the step in which it ends, and a lane is never busier than all
  /// of the time.
  void read(engine::StepMetrics& line);
  /// Busy time of a lane since the last read(); may be called from any thread.
  [[nodiscard]] Duration worked(planner::LaneKind lane) const {
    return Duration(lanes_[static_cast<std::size_t>(lane)].nanoseconds.load());
  }

 private:
  struct TaskLane {
    planner::LaneKind lane;
    std::int64_t bytes;
  };
  struct Counters {
    bool used = false;
    std::atomic<std::int64_t> nanoseconds{0};
    std::atomic<std::int64_t> bytes{0};
  };
  std::vector<TaskLane> tasks_;
  std::array<Counters, planner::kLaneKinds> lanes_;
  engine::Observer& next_;
};

}  // namespace sluice::profiler
