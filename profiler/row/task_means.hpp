// The tasks of a step by kind: how many, how long each was predicted to take and took.
#pragma once

#include <string>
#include <vector>

#include "planner/predictions/predict.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// Tasks of one kind and one sort of unit ("forward/block", "load_weights/head", "update/cpu").
struct TaskMean {
  std::string name;
  planner::LaneKind lane = planner::LaneKind::compute;
  std::size_t count = 0;  ///< A step.
  Seconds predicted{0};   ///< Mean of one, contention included.
  Seconds measured{0};
  Seconds ceiling{0};     ///< Compute lane: mean at the machine's ceilings; else zero.
  Bytes bytes{0};         ///< Copies: mean.
  double flops = 0;       ///< Compute: mean.
  double parameters = 0;  ///< Updates: mean.
  [[nodiscard]] double measured_bytes_per_s() const {
    return measured.count() > 0 ? static_cast<double>(bytes.count()) / measured.count() : 0;
  }
};

/// In the order in which a step first has them. `predicted` as PredictedStep::times, of which the
/// third step is read; measured is the mean over the steps of `run`, at least one.
[[nodiscard]] std::vector<TaskMean> task_means(const planner::StepGraph& graph,
                                               const planner::Job& job,
                                               const planner::MachineProfile& machine,
                                               const std::vector<planner::TaskTimes>& predicted,
                                               const MeasuredRun& run);

/// One line a kind: lane, count, predicted, measured, their ratio, and what is a rate.
[[nodiscard]] std::string task_means_table(const std::vector<TaskMean>& means);

}  // namespace sluice::profiler
