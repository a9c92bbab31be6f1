// Tasks of a step by kind: their number, and their mean predicted and measured times.
#pragma once

#include <string>
#include <vector>

#include "planner/predictions/predict.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// Means over the tasks of a step that are of one kind and on one kind of unit ("forward/block",
/// "load_weights/head", "update/cpu/block").
struct TaskMean {
  std::string name;
  planner::LaneKind lane = planner::LaneKind::compute;
  std::size_t count = 0;  ///< Number of such tasks in a step.
  Seconds predicted{0};   ///< Mean predicted time of one task, contention included.
  Seconds measured{0};
  /// Mean time of a task at the machine's ceilings; zero for tasks off the compute lane.
  Seconds ceiling{0};
  Bytes bytes{0};         ///< Mean bytes of a task that copies.
  double flops = 0;       ///< Mean FLOPs of a task that computes.
  double parameters = 0;  ///< Mean number of parameters of a task that updates.
  [[nodiscard]] double measured_bytes_per_s() const {
    return measured.count() > 0 ? static_cast<double>(bytes.count()) / measured.count() : 0;
  }
};

/// Means of all kinds of task, in the order in which a step first has them. `predicted`
/// (PredictedStep::times) has an element a task of `graph`, of which the third step's are used;
/// measured times are means over the steps of `run`, which must have at least one.
[[nodiscard]] std::vector<TaskMean> task_means(const planner::StepGraph& graph,
                                               const planner::Job& job,
                                               const planner::MachineProfile& machine,
                                               const std::vector<planner::TaskTimes>& predicted,
                                               const MeasuredRun& run);

/// Text of a table with one line a kind of task: lane, count, predicted, measured, their ratio, and
/// rates.
[[nodiscard]] std::string task_means_table(const std::vector<TaskMean>& means);

}  // namespace sluice::profiler
