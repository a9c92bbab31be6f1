#include "planner/predictions/stalls.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using sim::TaskId;

/// The stall that a wait for this task counts as; none for tasks of the compute lane itself.
std::optional<Stall> stall_of(const StepTask& task) {
  switch (task.kind) {
    case TaskKind::data:
    case TaskKind::load_tokens:
      return Stall::tokens;
    case TaskKind::launch:
      return Stall::launch;
    case TaskKind::load_weights:
    case TaskKind::read_weights:
    case TaskKind::load_experts:
    case TaskKind::gather_weights:
    case TaskKind::barrier:
    case TaskKind::store_weights:
      return Stall::weights;
    case TaskKind::load_gradient:
    case TaskKind::store_gradient:
    case TaskKind::write_gradient:
    case TaskKind::read_gradient:
    case TaskKind::exchange_gradients:
    case TaskKind::gather_norms:
      return Stall::gradient;
    case TaskKind::load_activation:
    case TaskKind::save_activation:
      return Stall::activation;
    case TaskKind::load_state:
    case TaskKind::store_state:
    case TaskKind::read_state:
    case TaskKind::write_state:
    case TaskKind::write_weights:
    case TaskKind::host_pass:
      return Stall::optimizer;
    case TaskKind::update:
      if (task.lane == LaneKind::compute) return std::nullopt;
      return Stall::optimizer;
    case TaskKind::forward:
    case TaskKind::route:
    case TaskKind::loss:
    case TaskKind::recompute:
    case TaskKind::backward:
    case TaskKind::combine:
    case TaskKind::sum_groups:
    case TaskKind::sum_ranks:
    case TaskKind::norm:
    case TaskKind::sum_norms:
    case TaskKind::grads:
      return std::nullopt;
  }
  return std::nullopt;
}

/// For each task of the graph, the task before it on its lane; none for a lane's first task.
std::vector<std::optional<TaskId>> lane_predecessors(const StepGraph& graph) {
  std::vector<std::optional<TaskId>> before(graph.tasks.size());
  std::array<std::optional<TaskId>, kLaneKinds> last;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    auto& on_lane = last[static_cast<std::size_t>(graph.tasks[i].lane)];
    before[i] = on_lane;
    on_lane = TaskId(static_cast<std::uint32_t>(i));
  }
  return before;
}

class Attribution {
 public:
  Attribution(const StepGraph& graph, const std::vector<TaskTimes>& spans)
      : graph_(graph), spans_(spans), before_(lane_predecessors(graph)) {}

  /// Charges the time [from, to), in which the compute lane waited for `waiting` to start, to
  /// stalls.
  void charge(TaskId waiting, Instant from, Instant to, StallTimes& times) const {
    TaskId at = waiting;
    Stall last = Stall::launch;
    while (to > from) {
      const std::optional<TaskId> cause = last_enabler(at);
      if (!cause) break;
      const std::size_t c = sim::index(*cause);
      if (const auto named = stall_of(graph_.tasks[c])) last = *named;
      // From the cause's end to here nothing is known to have run for it: it belongs to the cause.
      const Instant begin = std::clamp(spans_[c].start, from, to);
      times.at(last) += to - begin;
      to = begin;
      at = *cause;
    }
    times.at(last) += to - from;
  }

 private:
  /// The task that ended last among the predecessors of `task` and the task before it on its lane.
  [[nodiscard]] std::optional<TaskId> last_enabler(TaskId task) const {
    std::optional<TaskId> latest;
    const auto consider = [&](TaskId candidate) {
      if (sim::index(candidate) >= spans_.size()) return;
      const Instant end = spans_[sim::index(candidate)].end;
      if (end > spans_[sim::index(task)].end) return;
      if (!earlier(candidate, task)) return;
      if (!latest || end > spans_[sim::index(*latest)].end) latest = candidate;
    };
    for (const TaskId predecessor : graph_.graph.task(task).after) consider(predecessor);
    if (const auto previous = before_[sim::index(task)]) consider(*previous);
    return latest;
  }

  /// Order by start, then by position in the graph; the walk goes strictly down in it.
  [[nodiscard]] bool earlier(TaskId a, TaskId b) const {
    const Instant start_a = spans_[sim::index(a)].start;
    const Instant start_b = spans_[sim::index(b)].start;
    return start_a < start_b || (start_a == start_b && sim::index(a) < sim::index(b));
  }

  const StepGraph& graph_;
  const std::vector<TaskTimes>& spans_;
  std::vector<std::optional<TaskId>> before_;
};

/// Means of `times` over `steps` steps. Nanoseconds that do not divide count as compute time, so
/// that parts still sum to the whole.
StallTimes per_step(StallTimes times, std::int64_t steps) {
  if (steps == 1) return times;
  times.period /= steps;
  times.compute = times.period;
  for (Duration& idle : times.idle) times.compute -= idle /= steps;
  Duration rest = times.compute;
  for (auto& [kind, time] : times.kinds) rest -= time /= steps;
  times.kinds[TaskKind::grads] += rest;
  return times;
}

}  // namespace

StallTimes stall_times(const StepGraph& graph, const std::vector<TaskTimes>& spans) {
  check(spans.size() == graph.tasks.size(), "one span a task");
  check(graph.graph.period().has_value(), "a step graph has a period");
  const Instant begin = spans[sim::index(graph.graph.period()->first)].end;
  const Instant end = spans[sim::index(graph.graph.period()->last)].end;
  StallTimes times;
  times.period = end - begin;
  const Attribution attribution(graph, spans);
  Instant at = begin;
  for (std::size_t i = 0; i < graph.tasks.size() && at < end; ++i) {
    if (graph.tasks[i].lane != LaneKind::compute) continue;
    const Instant start = std::clamp(spans[i].start, at, end);
    const Instant stop = std::clamp(spans[i].end, start, end);
    if (start > at) attribution.charge(TaskId(static_cast<std::uint32_t>(i)), at, start, times);
    times.compute += stop - start;
    times.kinds[graph.tasks[i].kind] += stop - start;
    at = stop;
  }
  // Only where the period's last task is not the lane's last span.
  times.compute += end - at;
  if (end > at) times.kinds[TaskKind::grads] += end - at;
  return per_step(std::move(times), graph.graph.period()->steps);
}

const char* to_string(Stall stall) {
  switch (stall) {
    case Stall::weights:
      return "weights";
    case Stall::gradient:
      return "gradient";
    case Stall::activation:
      return "activation";
    case Stall::optimizer:
      return "optimizer";
    case Stall::launch:
      return "launch";
    case Stall::tokens:
      return "tokens";
  }
  return "";
}

}  // namespace sluice::planner
