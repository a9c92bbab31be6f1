// Measured times of one run of a plan, task by task, over consecutive steps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/plans/plan.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/trace.hpp"

namespace sluice::profiler {

/// Consecutive steps of one plan, each with its spans in template order. The first and the last
/// step are only neighbours: the first shows what the second waited for, the last what overlapped
/// the one before it.
struct MeasuredRun {
  planner::Plan plan;
  std::vector<std::vector<Recorder::Span>> steps;
  /// The clock that timed tasks on lanes that the device runs by itself; all others are timed by
  /// the CPU's clock.
  sim::SpanSource device_times = sim::SpanSource::clock;
};

/// The clock that timed a task of `run`.
[[nodiscard]] sim::SpanSource time_source(const MeasuredRun& run, const planner::StepTask& task);

/// All whole steps of `recorder`.
[[nodiscard]] MeasuredRun measured_run(const planner::Plan& plan, const Recorder& recorder);

/// Step times from end of `grads` to end of `grads`, for every step but the first.
[[nodiscard]] std::vector<Seconds> step_times(const planner::StepGraph& graph,
                                              const MeasuredRun& run);

/// Median of a run's step times; for several runs the mean of their medians, since on a shared host
/// runs minutes apart differ as a whole.
[[nodiscard]] Seconds median_step(const planner::StepGraph& graph,
                                  std::span<const MeasuredRun> runs);

/// For each task of the periodic step, the tasks that it waits for.
class StepTemplate {
 public:
  explicit StepTemplate(const planner::StepGraph& graph);

  struct Predecessor {
    std::uint32_t task;
    std::uint32_t distance;  ///< 0 for a task of the same step, 1 for one of the step before.
  };
  /// The tasks that `task` waits for: its dependencies, and the task before it on its lane.
  [[nodiscard]] const std::vector<Predecessor>& before(std::size_t task) const {
    return before_[task];
  }
  [[nodiscard]] std::size_t size() const { return before_.size(); }

  /// Time from the instant at which nothing kept a task from starting to its end, for every task:
  /// its own time and the hand-off to its lane. Simulated tasks start at that instant, so that the
  /// simulated duration and the measured occupancy are the same quantity, and a schedule whose
  /// occupancies are all predicted is predicted to the nanosecond.
  [[nodiscard]] std::vector<Seconds> occupancy(const std::vector<Recorder::Span>& previous,
                                               const std::vector<Recorder::Span>& current) const;

 private:
  std::vector<std::vector<Predecessor>> before_;
};

/// Median of `values`; zero where there are none.
[[nodiscard]] double median(std::vector<double> values);
/// Standard deviation estimated from the median absolute deviation (x 1.4826); zero below two.
[[nodiscard]] double robust_deviation(const std::vector<double>& values);

}  // namespace sluice::profiler
