// Tasks of a step by kind: their number, and their mean predicted and measured times.
#pragma once

#include <string>
#include <vector>

#include "planner/predictions/predict.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// Means over tasks of one kind and one kind of unit ("forward/block", "load_weights/head",
/// "update/cpu").
struct TaskMean {
  std::string name;
  planner::LaneKind lane = planner::LaneKind::compute;
  std::size_t count = 0;  ///< Tasks of this kind in a step.
  Seconds predicted{0};   ///< Mean predicted time of one task, contention included.
  Seconds measured{0};
  Seconds ceiling{0};     ///< On the compute lane, mean time at the machine's ceilings; else zero.
  Bytes bytes{0};         ///< Mean bytes of a copy.
  double flops = 0;       ///< Mean FLOPs of a compute task.
  double parameters = 0;  ///< Mean parameters of an update.
  [[nodiscard]] double measured_bytes_per_s() const {
    return measured.count() > 0 ? static_cast<double>(bytes.count()) / measured.count() : 0;
  }
};

/// Means by kind of task, in the order in which a step first has them. `predicted` are
/// PredictedStep::times, of which the third step is read; measured times are means over the steps
/// of `run`, of which there must be at least one.
[[nodiscard]] std::vector<TaskMean> task_means(const planner::StepGraph& graph,
                                               const planner::Job& job,
                                               const planner::MachineProfile& machine,
                                               const std::vector<planner::TaskTimes>& predicted,
                                               const MeasuredRun& run);

/// A table with one line a kind: lane, count, predicted, measured, their ratio, and rates.
[[nodiscard]] std::string task_means_table(const std::vector<TaskMean>& means);

}  // namespace sluice::profiler
