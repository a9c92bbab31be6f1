#include "profiler/row/task_means.hpp"

#include <fmt/format.h>

#include <map>

#include "planner/predictions/ceilings.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

const char* sort_of(const planner::Job& job, int unit) {
  switch (unit_at(job.model, static_cast<std::size_t>(unit)).kind) {
    case planner::UnitKind::embed:
      return "embed";
    case planner::UnitKind::block:
      return "block";
    case planner::UnitKind::head:
      return "head";
  }
  return "";
}

std::string name_of(const planner::StepTask& task, const planner::Job& job) {
  switch (task.kind) {
    case planner::TaskKind::data:
    case planner::TaskKind::launch:
    case planner::TaskKind::load_tokens:
    case planner::TaskKind::grads:
      return to_string(task.kind);
    case planner::TaskKind::update:
      return std::string(task.lane == planner::LaneKind::cpu ? "update/cpu/" : "update/gpu/") +
             sort_of(job, task.unit);
    case planner::TaskKind::recompute:
      // The part of the block that the task computes.
      return task.cost.name().substr(0, task.cost.name().find('|'));
    default:
      return std::string(to_string(task.kind)) + "/" + sort_of(job, task.unit);
  }
}

std::string rate_of(const TaskMean& mean) {
  const double time = mean.measured.count();
  if (!(time > 0)) return "";
  if (mean.bytes.count() > 0) {
    return planner::format_rate(BytesPerSecond(mean.measured_bytes_per_s()));
  }
  if (mean.parameters > 0) return planner::format_amount(mean.parameters / time) + " parameters/s";
  if (mean.flops > 0) return planner::format_rate(FlopsPerSecond(mean.flops / time));
  return "";
}

}  // namespace

std::vector<TaskMean> task_means(const planner::StepGraph& graph, const planner::Job& job,
                                 const planner::MachineProfile& machine,
                                 const std::vector<planner::TaskTimes>& predicted,
                                 const MeasuredRun& run) {
  check(predicted.size() == graph.tasks.size(), "one predicted span a task");
  check(!run.steps.empty(), "a measured step");
  std::vector<TaskMean> means;
  std::map<std::string, std::size_t> rows;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const planner::StepTask& task = graph.tasks[i];
    const auto [row, added] = rows.emplace(name_of(task, job), means.size());
    if (added) means.push_back({.name = row->first, .lane = task.lane});
    TaskMean& mean = means[row->second];
    ++mean.count;
    const planner::TaskTimes& said = predicted[2 * graph.tasks_per_step + i];
    mean.predicted += to_seconds(said.end - said.start);
    for (const auto& step : run.steps) {
      mean.measured +=
          to_seconds(step[i].end - step[i].start) / static_cast<double>(run.steps.size());
    }
    mean.bytes += task.bytes;
    if (task.kind == planner::TaskKind::launch) continue;  // Its work is another lane's.
    mean.flops += task.work.flops().count();
    if (task.kind == planner::TaskKind::update) {
      mean.parameters += static_cast<double>(task.work.parameters);
    }
    if (task.lane == planner::LaneKind::compute) {
      mean.ceiling += planner::ceiling_time(task.work, machine);
    }
  }
  for (TaskMean& mean : means) {
    const auto count = static_cast<double>(mean.count);
    mean.predicted /= count;
    mean.measured /= count;
    mean.ceiling /= count;
    mean.bytes = mean.bytes / static_cast<std::int64_t>(mean.count);
    mean.flops /= count;
    mean.parameters /= count;
  }
  return means;
}

std::string task_means_table(const std::vector<TaskMean>& means) {
  std::string text =
      fmt::format("  {:<24} {:<8} {:>6} {:>12} {:>12} {:>7} {:>9}  {}\n", "task, mean of one",
                  "lane", "count", "predicted", "measured", "ratio", "ceiling", "measured rate");
  for (const TaskMean& mean : means) {
    const double ratio = mean.predicted.count() > 0 ? mean.measured / mean.predicted : 0;
    const double share = mean.measured.count() > 0 ? mean.ceiling / mean.measured : 0;
    text += fmt::format("  {:<24} {:<8} {:>6} {:>9.3f} ms {:>9.3f} ms {:>7} {:>9}  {}\n", mean.name,
                        to_string(mean.lane), mean.count, 1e3 * mean.predicted.count(),
                        1e3 * mean.measured.count(), ratio > 0 ? fmt::format("{:.2f}", ratio) : "",
                        share > 0 ? fmt::format("{:.0f} %", 100 * share) : "", rate_of(mean));
  }
  return text;
}

}  // namespace sluice::profiler
