// What `train` leaves in a run's folder before the first step and after the last.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/training/trained_run.hpp"
#include "engine/records/run_folder.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_arguments.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/trace.hpp"

namespace sluice::cli {

/// Throws BadRequest where --trace-out wants more steps than there are.
void require_steps_to_trace(const planner::RunArguments& request, std::int64_t steps);

/// The run's request, its plan and its predicted trace, which is returned. `step` holds the
/// numerics id. Throws EnvironmentError.
sim::Trace write_before(const engine::RunFolder& folder, const planner::RunConfig& config,
                        const planner::PredictedStep& step);

/// What `recorder` holds of a run that did `steps` steps since it began: its three steps, or those
/// that there were (then stalls, periods and critical paths, which take three, cannot be had).
/// Empty without any. `by_events`: the device's own times.
std::optional<sim::Trace> measured_trace(const planner::StepGraph& graph,
                                         const profiler::Recorder& recorder, std::int64_t steps,
                                         bool by_events);

/// Measured trace, manifest and report. A run does not fail because what it came to cannot be
/// written, for it is on stdout too: a line on stderr says so.
void write_after(const engine::RunFolder& folder, const planner::Request& planning,
                 TrainedRun& run);

}  // namespace sluice::cli
