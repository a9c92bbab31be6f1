#include "planner/graph/steady_state.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/error.hpp"
#include "sim/frozen_graph.hpp"

namespace sluice::planner {
namespace {

/// For each lane, how much later its last task of a step ends after the step's `grads` in the third
/// step than in the second.
std::vector<Duration> drifts(const StepGraph& graph, const sim::Timeline& timeline) {
  const auto tasks = graph.graph.tasks();
  const std::size_t period = graph.tasks_per_step;
  const sim::Period ends = *graph.graph.period();
  std::vector<Duration> lag_2(timeline.lane_busy.size(), Duration::min());
  std::vector<Duration> lag_3 = lag_2;
  for (std::size_t i = 0; i < period; ++i) {
    const std::size_t lane = sim::index(tasks[i].lane);
    lag_2[lane] = std::max(
        lag_2[lane], timeline.spans[period + i].end - timeline.spans[sim::index(ends.first)].end);
    lag_3[lane] = std::max(lag_3[lane], timeline.spans[2 * period + i].end -
                                            timeline.spans[sim::index(ends.last)].end);
  }
  std::vector<Duration> drift(lag_2.size(), Duration{0});
  for (std::size_t lane = 0; lane < drift.size(); ++lane) {
    if (lag_2[lane] != Duration::min()) drift[lane] = lag_3[lane] - lag_2[lane];
  }
  return drift;
}

std::size_t first_task_of(const StepGraph& graph, std::size_t lane) {
  const auto tasks = graph.graph.tasks();
  std::size_t first = 0;
  while (sim::index(tasks[first].lane) != lane) ++first;
  return first;
}

/// A lane whose lag grows by less than this part of the period lags by rounding only.
constexpr std::int64_t kPartOfPeriod = 500;

sim::Timeline simulated(const StepGraph& graph) {
  check(graph.graph.period().has_value(), "a step graph has a period");
  // The writer's graphs are valid by construction.
  return sim::simulate(sim::freeze(graph.graph, sim::Trust::validated));
}

struct Settled {
  sim::Timeline timeline;
  bool settled = false;  ///< Whether no lane lags further with every step.
};

/// Gives lanes that lag their latencies, starting from `timeline`, a simulation of `graph`.
Settled settle(StepGraph& graph, sim::Timeline timeline) {
  constexpr int kMost = 12;
  for (int round = 0; round < kMost; ++round) {
    const Duration period = timeline.period(*graph.graph.period());
    const std::vector<Duration> drift = drifts(graph, timeline);
    const auto worst = std::max_element(drift.begin(), drift.end());
    if (*worst * kPartOfPeriod <= period) return {std::move(timeline), true};
    // The added lag doubles every time, since a lane's limit shows only once the others wait for
    // it.
    const Seconds more = to_seconds(*worst) * static_cast<double>(1 << round);
    const auto lane = static_cast<std::size_t>(worst - drift.begin());
    graph.graph.mutable_tasks()[first_task_of(graph, lane)].latency += more;
    timeline = simulated(graph);
  }
  return {std::move(timeline), false};
}

/// Latencies of each lane's first task, by task.
using FirstLatencies = std::vector<std::pair<std::size_t, Seconds>>;

FirstLatencies first_latencies(const StepGraph& graph) {
  FirstLatencies latencies;
  std::vector<bool> seen(graph.graph.lanes().size(), false);
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const sim::Task& task = graph.graph.tasks()[i];
    if (seen[sim::index(task.lane)]) continue;
    seen[sim::index(task.lane)] = true;
    latencies.emplace_back(i, task.latency);
  }
  return latencies;
}

void set_latencies(StepGraph& graph, const FirstLatencies& latencies) {
  for (const auto& [task, latency] : latencies) {
    graph.graph.mutable_tasks()[task].latency = latency;
  }
}

}  // namespace

sim::Timeline simulate_steady(StepGraph& graph) { return settle(graph, simulated(graph)).timeline; }

SteadySteps steady_steps(StepGraph& graph, LookForCycles look) {
  const FirstLatencies idle = first_latencies(graph);
  Settled found = settle(graph, simulated(graph));
  if (look == LookForCycles::always || !found.settled) {
    const FirstLatencies lagging = first_latencies(graph);
    set_latencies(graph, idle);
    if (auto cycle = step_cycle(graph)) {
      const Duration step = cycle->timeline.period(*cycle->graph.graph.period());
      return {std::move(found.timeline), std::move(cycle), step};
    }
    set_latencies(graph, lagging);
  }
  const Duration step = found.timeline.period(*graph.graph.period());
  return {std::move(found.timeline), std::nullopt, step};
}

}  // namespace sluice::planner
