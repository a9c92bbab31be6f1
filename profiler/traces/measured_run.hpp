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

/// Measured times of consecutive steps of one plan: for each step a span for each task, in the step
/// graph's order. The first and the last step are only neighbours: the first shows what the second
/// waited for, the last what overlapped the one before it.
struct MeasuredRun {
  planner::Plan plan;
  std::vector<std::vector<Recorder::Span>> steps;
  /// The clock that timed tasks on lanes that the device runs by itself; tasks of other lanes are
  /// always timed by the CPU's clock.
  sim::SpanSource device_times = sim::SpanSource::clock;
};

/// The clock that timed `task` in `run`.
[[nodiscard]] sim::SpanSource time_source(const MeasuredRun& run, const planner::StepTask& task);

/// The measured run of the recorder's steps, up to the first that it does not hold completely.
[[nodiscard]] MeasuredRun measured_run(const planner::Plan& plan, const Recorder& recorder);

/// Time of every step but the first: from the end of the step before's `grads` task to the end of
/// its own.
[[nodiscard]] std::vector<Seconds> step_times(const planner::StepGraph& graph,
                                              const MeasuredRun& run);

/// Median of one run's step times; for several runs the mean of their medians, since on a shared
/// host runs minutes apart differ as a whole.
[[nodiscard]] Seconds median_step(const planner::StepGraph& graph,
                                  std::span<const MeasuredRun> runs);

/// The tasks that each task of a step waits for, the same in every step of a long run.
class StepTemplate {
 public:
  explicit StepTemplate(const planner::StepGraph& graph);

  struct Predecessor {
    std::uint32_t task;
    /// Distance in steps: 0 for a task of the same step, 1 for one of the step before.
    std::uint32_t distance;
  };
  /// The tasks that `task` (its number in a step) waits for: its dependencies, and last the task
  /// before it on its lane.
  [[nodiscard]] const std::vector<Predecessor>& before(std::size_t task) const {
    return before_[task];
  }
  [[nodiscard]] std::size_t size() const { return before_.size(); }

  /// For every task of a step, the time from the instant at which nothing kept it from starting to
  /// its end: its own time and the hand-off to its lane. `current` are the spans of the step's
  /// tasks, `previous` those of the step before. Simulated tasks start at that instant, so that the
  /// simulated duration and the measured occupancy are the same quantity, and a schedule whose
  /// occupancies are all predicted is predicted to the nanosecond.
  [[nodiscard]] std::vector<Seconds> occupancy(const std::vector<Recorder::Span>& previous,
                                               const std::vector<Recorder::Span>& current) const;

 private:
  std::vector<std::vector<Predecessor>> before_;
};

/// Median of `values`; zero where there are none.
[[nodiscard]] double median(std::vector<double> values);
/// Standard deviation of `values`, estimated from their median absolute deviation (x 1.4826); zero
/// for fewer than two.
[[nodiscard]] double robust_deviation(const std::vector<double>& values);

}  // namespace sluice::profiler
