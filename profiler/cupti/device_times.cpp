#include "profiler/cupti/device_times.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/error.hpp"

namespace sluice::profiler::cupti {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw EnvironmentError("calibration refused: " + why);
}

bool is_on(std::span<const planner::LaneKind> lanes, const planner::StepTask& task) {
  return task.kind != planner::TaskKind::grads &&
         std::find(lanes.begin(), lanes.end(), task.lane) != lanes.end();
}

}  // namespace

void use_device_times(MeasuredRun& run, const planner::StepGraph& graph, const RunPlace& place,
                      const Attribution& attribution) {
  if (const auto why = why_unfit(attribution)) refuse(*why);
  std::vector<std::vector<Recorder::Span>> steps = run.steps;
  Duration all{0}, unseen{0};
  std::size_t tasks_unseen = 0;
  std::string example;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    check(steps[s].size() == graph.tasks_per_step, "spans of whole steps");
    for (std::uint32_t task = 0; task < graph.tasks_per_step; ++task) {
      if (!is_on(place.lanes, graph.tasks[task])) continue;
      Recorder::Span& span = steps[s][task];
      all += span.end - span.start;
      const TaskActivity* seen =
          attribution.find({place.first_step + static_cast<std::int64_t>(s), task});
      if (seen == nullptr) {
        unseen += span.end - span.start;
        if (tasks_unseen++ == 0) example = graph.graph.tasks()[task].id;
        continue;
      }
      span = {place.on_run_clock(seen->start), place.on_run_clock(seen->end)};
    }
  }
  if (to_seconds(unseen) > kMostUnattributed * to_seconds(all)) {
    refuse(fmt::format(
        "CUPTI saw nothing of {} tasks ({} first), {:.3f} of {:.3f} ms by their events",
        tasks_unseen, example, 1e3 * to_seconds(unseen).count(), 1e3 * to_seconds(all).count()));
  }
  run.steps = std::move(steps);
  run.device_times = sim::SpanSource::cupti;
}

}  // namespace sluice::profiler::cupti
