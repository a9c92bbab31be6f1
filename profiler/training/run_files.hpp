// Files that training writes to a run's folder before the first step and after the last.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/run_folders/run_folder.hpp"
#include "planner/requests/request.hpp"
#include "profiler/traces/recorder.hpp"
#include "profiler/training/trained_run.hpp"
#include "sim/trace.hpp"

namespace sluice::profiler {

/// Throws BadRequest if a measured trace is requested (`trace_out`) that needs more steps than the
/// run has.
void require_steps_to_trace(const std::optional<std::string>& trace_out, std::int64_t steps);

/// Writes a run's request, its plan and its predicted trace to its folder; returns that trace. The
/// prediction in `step` must hold the numerics id. Throws EnvironmentError.
sim::Trace write_before(const engine::RunFolder& folder, const planner::RunConfig& config,
                        const planner::PredictedStep& step);

/// Trace of the steps that `recorder` holds of a run of `steps` steps: three, or fewer if there
/// were fewer (then stalls, periods and critical paths, which take three, are not available); none
/// if it holds none. `by_events` says whether times of device tasks are the device's own.
std::optional<sim::Trace> measured_trace(const planner::StepGraph& graph, const Recorder& recorder,
                                         std::int64_t steps, bool by_events);

/// Writes a run's measured trace, manifest and report to its folder. If that fails, a line on
/// stderr says so and the run does not fail, because its results are on stdout, too.
void write_after(const engine::RunFolder& folder, const planner::Request& planning,
                 TrainedRun& run);

}  // namespace sluice::profiler
