#include "profiler/traces/key_times.hpp"

#include <algorithm>
#include <optional>

#include "sim/error.hpp"

namespace sluice::profiler {

using planner::CostKey;

KeyTimes by_key(const planner::StepGraph& graph, const std::vector<Seconds>& occupancy) {
  KeyTimes times;
  for (std::size_t i = 0; i < occupancy.size(); ++i) {
    KeyTime& time = times[graph.tasks[i].cost];
    time.seconds += occupancy[i].count();
    ++time.tasks;
  }
  return times;
}

namespace {

bool is_copy(planner::LaneKind lane) {
  return lane == planner::LaneKind::h2d || lane == planner::LaneKind::d2h;
}

bool is_short_copy(const planner::StepTask& task, const planner::MachineProfile& profile) {
  constexpr Seconds kShort{2e-3};
  switch (task.lane) {
    case planner::LaneKind::h2d:
      return task.bytes / profile.h2d.value < kShort;
    case planner::LaneKind::d2h:
      return task.bytes / profile.d2h.value < kShort;
    default:
      return false;
  }
}

using Spans = std::vector<Recorder::Span>;

/// Time from the end of the copy before it on its lane to the start of copy `task`. None where
/// something else may have delayed it: it waits for a task that ended later than long before that
/// copy, or the CPU was late.
std::optional<Seconds> hand_off(const planner::StepGraph& graph, const StepTemplate& step_template,
                                const Spans& previous, const Spans& current, std::size_t task) {
  constexpr Duration kLongBefore = std::chrono::microseconds(100);
  constexpr Seconds kLate{50e-6};
  const auto end_of = [&](const StepTemplate::Predecessor& before) {
    return (before.distance == 0 ? current : previous)[before.task].end;
  };
  const auto& before = step_template.before(task);
  // The last predecessor is the one on the lane.
  if (graph.tasks[before.back().task].lane != graph.tasks[task].lane) return std::nullopt;
  const Instant free = end_of(before.back());
  for (const StepTemplate::Predecessor& other : before) {
    if (graph.tasks[other.task].lane == graph.tasks[task].lane) continue;
    if (end_of(other) + kLongBefore > free) return std::nullopt;
  }
  const Seconds gap = to_seconds(current[task].start - free);
  if (gap < Seconds(0) || gap > kLate) return std::nullopt;
  return gap;
}

/// Hand-off of every task of one step; none where the task is not a copy.
std::vector<std::optional<Seconds>> hand_offs(const planner::StepGraph& graph,
                                              const StepTemplate& step_template,
                                              const Spans& previous, const Spans& current) {
  std::vector<std::optional<Seconds>> gaps(graph.tasks_per_step);
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    if (!is_copy(graph.tasks[i].lane)) continue;
    gaps[i] = hand_off(graph, step_template, previous, current, i);
  }
  return gaps;
}

/// Turns `times`, for which tasks of a step occupied their lanes, into the times that their costs
/// describe.
void take_copies(std::vector<Seconds>& times, const planner::StepGraph& graph, const Spans& spans,
                 const std::vector<std::optional<Seconds>>& gaps) {
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!is_copy(graph.tasks[i].lane)) continue;
    times[i] = to_seconds(spans[i].end - spans[i].start) + gaps[i].value_or(Seconds(0));
  }
}

/// Seconds of every task of all steps, by key.
std::map<CostKey, std::vector<double>> task_seconds(
    const planner::StepGraph& graph, const std::vector<std::vector<Seconds>>& steps) {
  std::map<CostKey, std::vector<double>> all;
  for (const auto& step : steps) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      all[graph.tasks[i].cost].push_back(step[i].count());
    }
  }
  return all;
}

/// Clips tasks that took far longer than the others of their key, since they were preempted: to
/// four deviations above the median, so that a lost timeslice does not dominate a task of
/// microseconds.
void clip_outliers(const planner::StepGraph& graph, std::vector<std::vector<Seconds>>& steps) {
  std::map<CostKey, Seconds> limit;
  const auto all = task_seconds(graph, steps);
  for (const auto& [key, times] : all) {
    const double centre = median(times);
    limit[key] = Seconds(std::max(centre + 4 * robust_deviation(times), 1.05 * centre));
  }
  for (auto& step : steps) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      step[i] = std::min(step[i], limit.at(graph.tasks[i].cost));
    }
  }
}

/// Intervals over all steps in which one lane is busy, in order of time.
std::vector<Recorder::Span> busy(const planner::StepGraph& graph, const MeasuredRun& run,
                                 planner::LaneKind lane) {
  std::vector<Recorder::Span> spans;
  for (const auto& step : run.steps) {
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (graph.tasks[i].lane == lane) spans.push_back(step[i]);
    }
  }
  std::sort(spans.begin(), spans.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  return spans;
}

/// Whether `lane` was busy during more than a fiftieth of `span`.
bool beside(const std::vector<Recorder::Span>& lane, const Recorder::Span& span) {
  Duration together{0};
  auto at = std::partition_point(lane.begin(), lane.end(),
                                 [&](const auto& other) { return other.end <= span.start; });
  for (; at != lane.end() && at->start < span.end; ++at) {
    together += std::min(at->end, span.end) - std::max(at->start, span.start);
  }
  return together * 50 > span.end - span.start;
}

std::map<CostKey, double> quickest_tenth(const planner::StepGraph& graph,
                                         const std::vector<std::vector<Seconds>>& steps) {
  std::map<CostKey, double> quickest;
  auto all = task_seconds(graph, steps);
  for (auto& [key, times] : all) {
    const auto tenth = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 10);
    std::nth_element(times.begin(), tenth, times.end());
    quickest[key] = *tenth;
  }
  return quickest;
}

std::map<CostKey, std::vector<double>> copies_alone(const planner::StepGraph& graph,
                                                    const MeasuredRun& run) {
  using planner::LaneKind;
  const auto down = busy(graph, run, LaneKind::h2d), up = busy(graph, run, LaneKind::d2h);
  const auto cpu = busy(graph, run, LaneKind::cpu);
  std::map<CostKey, std::vector<double>> alone;
  for (std::size_t s = 1; s + 1 < run.steps.size(); ++s) {
    for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
      const planner::StepTask& task = graph.tasks[i];
      const Recorder::Span& span = run.steps[s][i];
      if (!is_copy(task.lane) || beside(cpu, span)) continue;
      if (beside(task.lane == LaneKind::h2d ? up : down, span)) continue;
      alone[task.cost].push_back(to_seconds(span.end - span.start).count());
    }
  }
  return alone;
}

}  // namespace

MeasuredKeys measured_keys(const planner::StepGraph& graph, const planner::MachineProfile& profile,
                           const MeasuredRun& run) {
  check(run.steps.size() >= 3, "a measured run has a step with neighbours");
  const StepTemplate step_template(graph);
  MeasuredKeys keys;
  const bool on_gpu = profile.device == planner::DeviceKind::cuda;
  if (on_gpu) keys.alone = copies_alone(graph, run);
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    keys.short_copy[graph.tasks[i].cost] = is_short_copy(graph.tasks[i], profile);
    keys.source[graph.tasks[i].cost] = time_source(run, graph.tasks[i]);
  }
  std::vector<std::vector<Seconds>> steps;
  for (std::size_t s = 1; s + 1 < run.steps.size(); ++s) {
    const Spans &previous = run.steps[s - 1], &current = run.steps[s];
    std::vector<std::optional<Seconds>> gaps(graph.tasks_per_step);
    if (on_gpu) gaps = hand_offs(graph, step_template, previous, current);
    steps.push_back(step_template.occupancy(previous, current));
    take_copies(steps.back(), graph, current, gaps);
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (gaps[i]) keys.hand_offs[graph.tasks[i].lane].push_back(gaps[i]->count());
    }
  }
  clip_outliers(graph, steps);
  keys.quickest = quickest_tenth(graph, steps);
  for (const std::vector<Seconds>& step : steps) {
    for (const auto& [key, time] : by_key(graph, step)) {
      keys.steps[key].push_back(time.seconds);
      keys.tasks[key] = time.tasks;
    }
  }
  return keys;
}

}  // namespace sluice::profiler
