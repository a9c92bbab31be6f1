// Replaces a run's event times by what CUPTI saw.
#pragma once

#include <functional>
#include <span>

#include "planner/graph/step_graph.hpp"
#include "profiler/cupti/attribution.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler::cupti {

/// What `use_device_times` puts a run's spans on.
struct RunPlace {
  std::int64_t first_step = 1;  ///< Of run.steps.
  std::function<Instant(std::chrono::steady_clock::time_point)> on_run_clock;
  std::span<const planner::LaneKind> lanes;  ///< That the device runs by itself.
};

/// Spans of tasks on `lanes` become first start to last end of their activities, and the run's
/// device_times say so. Throws EnvironmentError, and leaves the run as it is, where why_unfit has
/// something to say, or where tasks that have no activity took more than kMostUnattributed of the
/// lanes' time by their events: their records were lost without a word.
void use_device_times(MeasuredRun& run, const planner::StepGraph& graph, const RunPlace& place,
                      const Attribution& attribution);

}  // namespace sluice::profiler::cupti
