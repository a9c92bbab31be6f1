// Replacement of a measured run's event times by the times that CUPTI recorded.
#pragma once

#include <functional>
#include <span>

#include "planner/graph/step_graph.hpp"
#include "profiler/cupti/attribution.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler::cupti {

/// Where a measured run's spans lie in the run, and how to bring instants to its clock.
struct RunPlace {
  std::int64_t first_step = 1;  ///< Number, in the run, of the step whose spans are run.steps[0].
  std::function<Instant(std::chrono::steady_clock::time_point)> on_run_clock;
  std::span<const planner::LaneKind> lanes;  ///< The lanes whose tasks the device runs by itself.
};

/// Sets the spans of tasks on `place.lanes` to the first start and last end of their activities,
/// and run.device_times accordingly. Throws EnvironmentError, and leaves the run as it is, where
/// why_unfit() has a reason, or where tasks without activity took more than kMostUnattributed of
/// the lanes' time by their events: their records were lost silently.
void use_device_times(MeasuredRun& run, const planner::StepGraph& graph, const RunPlace& place,
                      const Attribution& attribution);

}  // namespace sluice::profiler::cupti
