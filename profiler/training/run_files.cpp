#include "profiler/training/run_files.hpp"

#include <algorithm>

#include "planner/files/whole_file.hpp"
#include "profiler/traces/trace_export.hpp"
#include "profiler/training/run_json.hpp"
#include "profiler/training/traced_steps.hpp"
#include "profiler/training/train_report.hpp"
#include "sim/error.hpp"
#include "sim/simulate.hpp"
#include "sim/trace_file.hpp"
#include "sim/trace_json.hpp"
#include "sim/warning.hpp"

namespace sluice::profiler {

void require_steps_to_trace(const std::optional<std::string>& trace_out, std::int64_t steps) {
  if (!trace_out || steps >= kTracedSteps) return;
  throw BadRequest("--trace-out: three steps are traced, and steps is " + std::to_string(steps) +
                   ": raise it");
}

sim::Trace write_before(const engine::RunFolder& folder, const planner::RunConfig& config,
                        const planner::PredictedStep& step) {
  planner::PlanFile plan = planner::to_plan_file(step.prediction);
  plan.numerics_id = step.prediction.numerics_id;
  planner::write_whole_file(folder.run_yaml(), to_yaml(config));
  planner::write_plan_file(plan, folder.plan());
  sim::Trace predicted =
      trace_of(step.graph, sim::simulate(step.graph.graph).spans, sim::SpanSource::simulated);
  planner::write_whole_file(folder.predicted_trace(), sim::write_trace(predicted));
  return predicted;
}

std::optional<sim::Trace> measured_trace(const planner::StepGraph& graph, const Recorder& recorder,
                                         std::int64_t steps, bool by_events) {
  const std::int64_t first = recorder.steps().first;
  const std::int64_t count = std::min(steps - first + 1, kTracedSteps);
  if (count <= 0) return std::nullopt;
  return trace_of(graph, recorded_steps(recorder, first, count),
                  by_events ? sim::SpanSource::event : sim::SpanSource::clock);
}

void write_after(const engine::RunFolder& folder, const planner::Request& planning,
                 TrainedRun& run) {
  try {
    folder.require_there();
    if (run.measured_trace) {
      planner::write_whole_file(folder.measured_trace(), sim::write_trace(*run.measured_trace));
    }
    for (std::size_t i = 0; i < run.rank_traces.size(); ++i) {
      planner::write_whole_file(rank_trace_file(folder.path(), i + 1),
                                sim::write_trace(run.rank_traces[i]));
    }
    // Those of an earlier start with more ranks are of other steps.
    std::error_code ignored;
    for (std::size_t rank = run.rank_traces.size() + 1;
         std::filesystem::remove(rank_trace_file(folder.path(), rank), ignored); ++rank) {
    }
    planner::write_whole_file(folder.manifest(), manifest_json(run));
    run.elasticities = planner::elasticities(planning.predictor, planning.calibration,
                                             run.predicted.prediction.plan);
    ReportData report = report_of(run);
    if (is_summed_up(report.step)) {
      report.step.every_task = "trace.json";
      const TraceExport all = export_run(folder.path());
      planner::write_whole_file(folder.path() / report.step.every_task,
                                sim::write_chrome_trace(all.traces));
    }
    planner::write_whole_file(folder.report(), report_html(report));
  } catch (const Error& error) {
    sim::warn(std::string("the run's report was not written: ") + error.what());
  }
}

}  // namespace sluice::profiler
