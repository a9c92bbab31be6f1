#include "profiler/traces/recorder.hpp"

#include <algorithm>
#include <utility>

#include "sim/error.hpp"

namespace sluice::profiler {

namespace {

/// The longest time within `spans` that none of them covers.
Recorder::Span longest_rest(std::vector<Recorder::Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const auto& a, const auto& b) { return a.start < b.start; });
  Recorder::Span rest{spans.front().start, spans.front().start};
  Instant covered = spans.front().end;
  for (const auto& span : spans) {
    if (span.start - covered > rest.end - rest.start) rest = {covered, span.start};
    covered = std::max(covered, span.end);
  }
  return rest;
}

}  // namespace

Recorder::Recorder(const planner::StepGraph& graph, StepRange steps,
                   std::vector<std::int64_t> stops)
    : tasks_per_step_(graph.tasks_per_step),
      steps_(steps),
      stops_(std::move(stops)),
      slots_(graph.tasks_per_step * static_cast<std::size_t>(steps.count)) {}

void Recorder::task_ran(const engine::TaskEvent& event) {
  if (event.step < steps_.first || event.step >= steps_.first + steps_.count) return;
  slots_[slot_of(event.step) + event.task] = Slot{event.start, event.end, true};
}

bool Recorder::has(std::int64_t step) const {
  if (step < steps_.first || step >= steps_.first + steps_.count) return false;
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(slot_of(step));
  return std::all_of(begin, begin + static_cast<std::ptrdiff_t>(tasks_per_step_),
                     [](const Slot& slot) { return slot.written; });
}

std::vector<Recorder::Span> Recorder::spans(std::int64_t step) const {
  check(has(step), "a trace holds every task of the steps it shows");
  std::vector<Span> spans;
  spans.reserve(tasks_per_step_);
  for (std::size_t i = 0; i < tasks_per_step_; ++i) {
    const Slot& slot = slots_[slot_of(step) + i];
    spans.push_back({slot.start, slot.end});
  }
  return spans;
}

void Recorder::restart(StepRange steps) {
  check(static_cast<std::size_t>(steps.count) * tasks_per_step_ <= slots_.size(),
        "a recorder does not grow while it is observed");
  steps_ = steps;
  std::fill(slots_.begin(), slots_.end(), Slot{});
}

std::vector<Recorder::Span> recorded_steps(const Recorder& recorder, std::int64_t first,
                                           std::int64_t count) {
  std::vector<Recorder::Span> spans;
  spans.reserve(recorder.tasks_per_step() * static_cast<std::size_t>(count));
  for (std::int64_t step = first; step < first + count; ++step) {
    const auto more = recorder.spans(step);
    spans.insert(spans.end(), more.begin(), more.end());
  }
  for (const std::int64_t stop : recorder.stops()) {
    if (stop < first || stop >= first + count - 1) continue;
    const auto two =
        spans.begin() + (stop - first) * static_cast<std::ptrdiff_t>(recorder.tasks_per_step());
    const Recorder::Span rest =
        longest_rest({two, two + 2 * static_cast<std::ptrdiff_t>(recorder.tasks_per_step())});
    for (auto& span : spans) {
      if (span.start < rest.end) continue;
      span.start -= rest.end - rest.start;
      span.end -= rest.end - rest.start;
    }
  }
  Instant origin = Instant::max();
  for (const auto& span : spans) origin = std::min(origin, span.start);
  for (auto& span : spans) {
    span.start = Instant(span.start - origin);
    span.end = Instant(span.end - origin);
  }
  return spans;
}

sim::Trace trace_of(const planner::StepGraph& graph, const std::vector<Recorder::Span>& spans,
                    sim::SpanSource source) {
  const auto tasks = graph.graph.tasks();
  check(spans.size() <= tasks.size() && spans.size() % graph.tasks_per_step == 0,
        "a trace has one span for each task of its graph's steps, or of some of them");
  sim::Trace trace;
  trace.spans.reserve(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const planner::StepTask& task = graph.tasks[i];
    const bool of_device = source == sim::SpanSource::event || source == sim::SpanSource::cupti;
    const bool by_cpu = !is_device_lane(task.lane) || task.kind == planner::TaskKind::grads;
    trace.spans.push_back({tasks[i].id, planner::to_string(task.lane),
                           planner::to_string(task.kind), spans[i].start, spans[i].end, task.bytes,
                           of_device && by_cpu ? sim::SpanSource::clock : source});
  }
  return trace;
}

}  // namespace sluice::profiler
