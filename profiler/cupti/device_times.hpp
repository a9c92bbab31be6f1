// Replaces a run's event times by those that CUPTI recorded.
#pragma once

#include <functional>
#include <span>

#include "planner/graph/step_graph.hpp"
#include "profiler/cupti/attribution.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler::cupti {

/// How device instants map to a run's spans.
struct RunPlace {
  std::int64_t first_step = 1;  ///< The run's step number of run.steps[0].
  std::function<Instant(std::chrono::steady_clock::time_point)> on_run_clock;
  std::span<const planner::LaneKind> lanes;  ///< The lanes that the device runs by itself.
};

/// Sets spans of tasks on `lanes` to the first start and last end of their activities, and the
/// run's device_times accordingly. Throws EnvironmentError, and leaves the run as it is, where
/// why_unfit() has a reason, or where tasks without activity took more than kMostUnattributed of
/// the lanes' time by their events: their records were lost silently.
void use_device_times(MeasuredRun& run, const planner::StepGraph& graph, const RunPlace& place,
                      const Attribution& attribution);

}  // namespace sluice::profiler::cupti
