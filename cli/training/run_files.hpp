// Files that `train` writes to a run's folder before the first step and after the last.
#pragma once

#include <cstdint>
#include <optional>

#include "cli/training/trained_run.hpp"
#include "engine/records/run_folder.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/requests/run_planning.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/trace.hpp"

namespace sluice::cli {

/// Throws BadRequest if --trace-out needs more steps than the run has.
void require_steps_to_trace(const planner::RunArguments& request, std::int64_t steps);

/// Writes the run's request, its plan and its predicted trace; returns the trace. `step` must hold
/// the numerics id. Throws EnvironmentError.
sim::Trace write_before(const engine::RunFolder& folder, const planner::RunConfig& config,
                        const planner::PredictedStep& step);

/// Trace that `recorder` holds of a run of `steps` steps: the recorded three, or fewer if there
/// were fewer (then stalls, periods and critical paths, which take three, are not available). Empty
/// if there is none. `by_events`: whether times are the device's own.
std::optional<sim::Trace> measured_trace(const planner::StepGraph& graph,
                                         const profiler::Recorder& recorder, std::int64_t steps,
                                         bool by_events);

/// Writes measured trace, manifest and report. If that fails a line on stderr says so and the run
/// does not fail, because its results are on stdout, too.
void write_after(const engine::RunFolder& folder, const planner::RunPlanning& planning,
                 TrainedRun& run);

}  // namespace sluice::cli
