#include "profiler/traces/measured_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/error.hpp"

namespace sluice::profiler {

MeasuredRun measured_run(const planner::Plan& plan, const Recorder& recorder) {
  MeasuredRun run{.plan = plan, .steps = {}};
  const StepRange range = recorder.steps();
  for (std::int64_t step = range.first; step < range.first + range.count; ++step) {
    if (!recorder.has(step)) break;
    run.steps.push_back(recorder.spans(step));
  }
  return run;
}

sim::SpanSource time_source(const MeasuredRun& run, const planner::StepTask& task) {
  const bool on_device = is_device_lane(task.lane) && task.kind != planner::TaskKind::grads;
  return on_device ? run.device_times : sim::SpanSource::clock;
}

std::vector<Seconds> step_times(const planner::StepGraph& graph, const MeasuredRun& run) {
  std::size_t grads = graph.tasks_per_step;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    if (graph.tasks[i].kind == planner::TaskKind::grads) grads = i;
  }
  check(grads < graph.tasks_per_step, "a step has a grads task");
  std::vector<Seconds> times;
  for (std::size_t step = 1; step < run.steps.size(); ++step) {
    times.push_back(to_seconds(run.steps[step][grads].end - run.steps[step - 1][grads].end));
  }
  return times;
}

StepTemplate::StepTemplate(const planner::StepGraph& graph) : before_(graph.tasks_per_step) {
  const std::size_t period = graph.tasks_per_step;
  const auto tasks = graph.graph.tasks();
  check(tasks.size() == 3 * period, "a step graph holds three equal steps");
  // The third step is the one whose predecessors are all in the graph.
  std::map<sim::LaneId, std::uint32_t> last_of_lane;
  for (std::size_t i = 0; i < period; ++i) {
    last_of_lane[tasks[i].lane] = static_cast<std::uint32_t>(i);
  }
  std::map<sim::LaneId, std::uint32_t> previous_of_lane;
  for (std::size_t i = 0; i < period; ++i) {
    const sim::Task& task = tasks[2 * period + i];
    for (const sim::TaskId after : task.after) {
      const std::size_t at = sim::index(after);
      const auto distance = static_cast<std::uint32_t>(2 - at / period);
      before_[i].push_back({static_cast<std::uint32_t>(at % period), distance});
    }
    const auto previous = previous_of_lane.find(task.lane);
    if (previous != previous_of_lane.end()) {
      before_[i].push_back({previous->second, 0});
    } else {
      before_[i].push_back({last_of_lane.at(task.lane), 1});
    }
    previous_of_lane[task.lane] = static_cast<std::uint32_t>(i);
  }
}

std::vector<Seconds> StepTemplate::occupancy(const std::vector<Recorder::Span>& previous,
                                             const std::vector<Recorder::Span>& current) const {
  check(previous.size() == size() && current.size() == size(), "spans of whole steps");
  std::vector<Seconds> times(size());
  for (std::size_t i = 0; i < size(); ++i) {
    Instant ready = Instant::min();
    for (const Predecessor& before : before_[i]) {
      const auto& step = before.distance == 0 ? current : previous;
      ready = std::max(ready, step[before.task].end);
    }
    // Clocks of two lanes may disagree by the time between reading a stamp and publishing it.
    ready = std::min(ready, current[i].start);
    times[i] = to_seconds(current[i].end - ready);
  }
  return times;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double robust_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double centre = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - centre));
  return 1.4826 * median(std::move(distances));  // equals the deviation of a normal distribution
}

Seconds median_step(const planner::StepGraph& graph, std::span<const MeasuredRun> runs) {
  Seconds sum{0};
  for (const MeasuredRun& run : runs) {
    std::vector<double> times;
    for (const Seconds time : step_times(graph, run)) times.push_back(time.count());
    sum += Seconds(median(std::move(times)));
  }
  return sum / static_cast<double>(runs.size());
}

}  // namespace sluice::profiler
