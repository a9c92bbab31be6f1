#include "profiler/traces/trace_export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "engine/model_files/kept_model.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/stated_paths.hpp"
#include "planner/runs/run_config.hpp"
#include "profiler/traces/comparison.hpp"
#include "sim/error.hpp"
#include "sim/trace_json.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::Stall;

const char* remedy(Stall stall) {
  switch (stall) {
    case Stall::weights:
      return "more weight buffers or fewer rounds (plan.weight_buffers, plan.rounds), blocks that "
             "stay in HBM, or a faster link to the device";
    case Stall::gradient:
      return "more gradient buffers (plan.gradient_buffers), fewer rounds, or a faster link to the "
             "host";
    case Stall::activation:
      return "keeping records in HBM or recomputing them (plan.keep_tier, plan.keep)";
    case Stall::optimizer:
      return "a faster optimizer: more CPU threads or memory channels, or state in HBM";
    case Stall::launch:
      return "a faster launching core, or larger micro-batches";
    case Stall::tokens:
      return "a faster reader of the data";
  }
  return "";
}

std::string stall_table(const std::optional<planner::StallTimes>& predicted,
                        const std::optional<planner::StallTimes>& measured) {
  const auto cell = [](const std::optional<planner::StallTimes>& times, auto part) -> std::string {
    return times ? planner::format_seconds(to_seconds(part(*times))) : "-";
  };
  std::string text = fmt::format("{:<24}{:>12}{:>12}\n", "a step", "predicted", "measured");
  const auto row = [&](const std::string& name, auto part) {
    text += fmt::format("{:<24}{:>12}{:>12}\n", name, cell(predicted, part), cell(measured, part));
  };
  row("compute", [](const auto& times) { return times.compute; });
  for (std::size_t i = 0; i < planner::kStalls; ++i) {
    const auto stall = static_cast<Stall>(i);
    row(std::string("waiting for ") + planner::to_string(stall),
        [stall](const auto& times) { return times.at(stall); });
  }
  row("step", [](const auto& times) { return times.period; });
  return text;
}

/// Comparison of the one or two steps of a run that had no more.
std::string fewer_steps(const sim::Trace& predicted, const sim::Trace& measured, int count) {
  return fmt::format("Of its first {}:\n\n", count == 1 ? "step" : "two steps") +
         comparison_text(compare(steps_of(predicted, 1, count), measured), "predicted",
                         "measured") +
         "\n";
}

/// Whether each of the three steps begins before the one before has ended on all lanes.
bool steps_overlap(const planner::StepGraph& graph, const std::vector<Recorder::Span>& spans) {
  const auto steps = static_cast<std::ptrdiff_t>(graph.tasks_per_step);
  for (auto step = spans.begin(); spans.end() - step > steps; step += steps) {
    Instant ended = Instant::min();
    Instant begins = Instant::max();
    for (auto span = step; span < step + steps; ++span) ended = std::max(ended, span->end);
    for (auto span = step + steps; span < step + 2 * steps; ++span) {
      begins = std::min(begins, span->start);
    }
    if (begins >= ended) return false;
  }
  return true;
}

/// The critical path as tracks of its own: what follows what, on one lane.
sim::NamedTrace path_trace(const planner::StepGraph& graph, const sim::Trace& trace,
                           const std::vector<Recorder::Span>& spans, const std::string& name) {
  sim::NamedTrace path{name + ": critical path", {}, {}};
  std::unordered_map<std::string, const sim::TraceSpan*> by_id;
  for (const sim::TraceSpan& span : trace.spans) by_id.emplace(span.id, &span);
  for (const sim::TaskId task : critical_tasks(graph, spans)) {
    sim::TraceSpan span = *by_id.at(graph.graph.task(task).id);
    span.lane = "critical path";
    path.trace.spans.push_back(std::move(span));
  }
  return path;
}

}  // namespace

std::vector<Recorder::Span> spans_of(const planner::StepGraph& graph, const sim::Trace& trace,
                                     const std::string& where) {
  std::unordered_map<std::string, const sim::TraceSpan*> by_id;
  for (const sim::TraceSpan& span : trace.spans) by_id.emplace(span.id, &span);
  std::vector<Recorder::Span> spans;
  spans.reserve(graph.graph.tasks().size());
  for (const sim::Task& task : graph.graph.tasks()) {
    const auto found = by_id.find(task.id);
    if (found == by_id.end()) {
      throw BadRequest(where + ": task \"" + task.id +
                       "\" is missing; the trace belongs to another plan or program");
    }
    spans.push_back({found->second->start, found->second->end});
  }
  return spans;
}

std::vector<sim::TaskId> critical_tasks(const planner::StepGraph& graph,
                                        const std::vector<Recorder::Span>& spans) {
  const auto tasks = graph.graph.tasks();
  check(spans.size() == tasks.size() && graph.graph.period().has_value(), "spans of the graph");
  std::vector<std::optional<std::size_t>> before_on_lane(tasks.size());
  std::vector<std::optional<std::size_t>> last(graph.graph.lanes().size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    before_on_lane[i] = last[sim::index(tasks[i].lane)];
    last[sim::index(tasks[i].lane)] = i;
  }
  std::vector<sim::TaskId> path;
  std::optional<std::size_t> at = sim::index(graph.graph.period()->last);
  while (at) {
    path.push_back(sim::TaskId(static_cast<std::uint32_t>(*at)));
    std::optional<std::size_t> latest = before_on_lane[*at];
    for (const sim::TaskId before : tasks[*at].after) {
      if (!latest || spans[sim::index(before)].end > spans[*latest].end) {
        latest = sim::index(before);
      }
    }
    at = latest;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::string dominant_stall(const planner::StallTimes& stalls) {
  const auto largest = std::max_element(stalls.idle.begin(), stalls.idle.end());
  const auto stall = static_cast<Stall>(largest - stalls.idle.begin());
  const double share =
      stalls.period.count() > 0 ? to_seconds(*largest) / to_seconds(stalls.period) : 0;
  if (share < 0.005) {
    return "The compute lane hardly waits: only faster compute, or less recomputation, would "
           "shorten the step.";
  }
  return fmt::format("Most waiting is for {}: {} of a step ({:.1f} %). What would remove it: {}.",
                     planner::to_string(stall), planner::format_seconds(to_seconds(*largest)),
                     100 * share, remedy(stall));
}

std::filesystem::path rank_trace_file(const std::filesystem::path& folder, std::size_t rank) {
  return folder / ("measured.rank" + std::to_string(rank) + ".trace");
}

TraceExport export_run(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw BadRequest(folder.string() + ": no such run folder; give the folder that train wrote");
  }
  planner::RunConfig config = planner::read_run(folder / "run.yaml");
  planner::lead_to_working_folder(config);
  if (const auto kept = engine::kept_model_of(folder)) config.kept_model = kept->folder;
  const planner::Job job = planner::to_job(config);
  const planner::PlanFile plan = planner::read_plan_file(folder / "plan.json");
  planner::check_plan_for(plan, job);
  // Edges and order depend on job and plan alone: any costs will do.
  const planner::ProfileCostModel costs(planner::here_estimate(), {});
  const planner::StepGraph graph = planner::build_step_graph(job, plan.plan, costs);

  TraceExport result;
  std::optional<planner::StallTimes> stalls[2];
  std::optional<Seconds> steps[2];
  bool overlap[2] = {false, false};
  std::string fewer;
  const char* const names[] = {"predicted", "measured"};
  for (int i = 0; i < 2; ++i) {
    const std::filesystem::path file = folder / (std::string(names[i]) + ".trace");
    if (i == 1 && !std::filesystem::exists(file)) continue;
    const sim::Trace trace = sim::read_trace(planner::read_whole_file(file), file.string());
    if (const auto count = trace.spans.size() / graph.tasks_per_step; i == 1 && count < 3) {
      fewer = fewer_steps(result.traces.front().trace, trace, static_cast<int>(count));
      result.traces.push_back({names[i], trace, {}});
      continue;
    }
    const auto spans = spans_of(graph, trace, file.string());
    stalls[i] = planner::stall_times_of(graph, spans);
    steps[i] = step_period(trace);
    overlap[i] = steps_overlap(graph, spans);
    result.traces.push_back({names[i], trace, {}});
    result.traces.push_back(path_trace(graph, trace, spans, names[i]));
  }
  for (std::size_t rank = 1; std::filesystem::exists(rank_trace_file(folder, rank)); ++rank) {
    const std::filesystem::path file = rank_trace_file(folder, rank);
    result.traces.push_back({"measured, rank " + std::to_string(rank),
                             sim::read_trace(planner::read_whole_file(file), file.string()),
                             {}});
  }
  result.summary = stall_table(stalls[0], stalls[1]);
  if (steps[1]) {
    result.summary += fmt::format(
        "\nThese steps took {} each: error {:+.1f} % (predicted over measured, less 1).\n",
        planner::format_seconds(*steps[1]), 100 * (*steps[0] / *steps[1] - 1));
  } else {
    result.summary += "\nThe run ended before three steps could be traced.\n" + fewer;
  }
  if (steps[1] && overlap[0] && !overlap[1]) {
    result.summary +=
        "They do not overlap, as steps in a row do: between them the run stopped to evaluate or to "
        "save, and what copies and updates had left to do by then counts as waiting for tokens. "
        "With evaluate_every and save_every of five or more, a trace shows the steps of a long "
        "run.\n";
    return result;
  }
  result.summary += dominant_stall(stalls[1] ? *stalls[1] : *stalls[0]) + "\n";
  return result;
}

}  // namespace sluice::profiler
