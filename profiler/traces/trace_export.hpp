// Export of a run folder's traces to one file for Perfetto, with a summary of where its step time
// goes.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "planner/graph/step_graph.hpp"
#include "planner/predictions/stalls.hpp"
#include "profiler/traces/recorder.hpp"
#include "sim/trace.hpp"
#include "sim/trace_file.hpp"

namespace sluice::profiler {

/// Spans of the tasks in `trace`, in the order of `graph`'s tasks; messages call the trace `where`.
/// Throws BadRequest naming the first task that the trace lacks.
[[nodiscard]] std::vector<Recorder::Span> spans_of(const planner::StepGraph& graph,
                                                   const sim::Trace& trace,
                                                   const std::string& where);

/// Tasks of the critical path of three steps, by predicted or measured spans: the last is s3/grads,
/// which ends the third step's gradients, and before each comes the task that ended last of those
/// it had to wait for.
[[nodiscard]] std::vector<sim::TaskId> critical_tasks(const planner::StepGraph& graph,
                                                      const std::vector<Recorder::Span>& spans);

/// Sentence that names what the compute lane waits for most and what would remove that wait, or
/// says that it hardly waits (less than 0.5 % of a step).
[[nodiscard]] std::string dominant_stall(const planner::StallTimes& stalls);

/// File of a run folder with the measured trace of a rank after the first.
[[nodiscard]] std::filesystem::path rank_trace_file(const std::filesystem::path& folder,
                                                    std::size_t rank);

struct TraceExport {
  /// The predicted trace and the measured one, where there is one, each with its critical path, and
  /// the measured traces of the ranks after the first.
  std::vector<sim::NamedTrace> traces;
  std::string summary;
};

/// Reads run.yaml, plan.json, predicted.trace and, where the run got that far, measured.trace of a
/// run folder. Throws BadRequest where one is missing or they do not belong together.
[[nodiscard]] TraceExport export_run(const std::filesystem::path& folder);

}  // namespace sluice::profiler
