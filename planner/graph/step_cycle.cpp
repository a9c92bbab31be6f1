#include "planner/graph/step_cycle.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "sim/error.hpp"
#include "sim/frozen_graph.hpp"

namespace sluice::planner {
namespace {

constexpr std::size_t kSteps = 12;
/// Steps at the end that must repeat: two of the longest cycle.
constexpr std::size_t kRepeating = 2 * kLongestCycle;
/// Steps that differ by less than this part are equal.
constexpr std::int64_t kEqualPart = 500;

sim::TaskGraph resources_of(const sim::TaskGraph& graph) {
  sim::TaskGraph copy;
  for (const sim::Lane& lane : graph.lanes()) copy.add_lane(lane.name);
  for (const sim::Link& link : graph.links()) copy.add_link(link.name, link.capacity);
  for (const sim::Pool& pool : graph.pools()) copy.add_pool(pool.name, pool.capacity);
  for (const sim::Interference& each : graph.interference()) copy.add_interference(each);
  for (const sim::Boost& boost : graph.boosts()) copy.add_boost(boost);
  return copy;
}

sim::TaskId later(sim::TaskId task, std::size_t by) {
  return sim::TaskId(static_cast<std::uint32_t>(sim::index(task) + by));
}

/// Whether each of the last kRepeating of `steps` is as long as the one `cycle` before it.
bool repeats(const std::vector<Duration>& steps, std::size_t cycle) {
  for (std::size_t i = steps.size() - kRepeating + cycle; i < steps.size(); ++i) {
    const std::int64_t apart = std::abs((steps[i] - steps[i - cycle]).count());
    if (apart * kEqualPart > steps[i].count()) return false;
  }
  return true;
}

}  // namespace

StepGraph many_steps(const StepGraph& graph, std::size_t steps) {
  const std::size_t n = graph.tasks_per_step;
  check(steps >= 3 && graph.tasks.size() == 3 * n, "a graph of three steps gets more");
  StepGraph result;
  result.graph = resources_of(graph.graph);
  result.graph.reserve_tasks(steps * n);
  result.tasks.reserve(steps * n);
  result.tasks_per_step = n;
  result.ranks = graph.ranks;
  result.hosts = graph.hosts;
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t like = step == 0 ? 0 : step + 1 == steps ? 2 : 1;
    const std::size_t shift = (step - like) * n;
    for (std::size_t i = like * n; i < (like + 1) * n; ++i) {
      sim::Task task = graph.graph.tasks()[i];
      for (sim::TaskId& before : task.after) before = later(before, shift);
      if (const auto slash = task.id.find('/'); slash != std::string::npos) {
        task.id = "s" + std::to_string(step + 1) + task.id.substr(slash);
      }
      result.graph.add_task(std::move(task));
      const StepTask& made = graph.tasks[i];
      StepTask copy{.kind = made.kind, .lane = made.lane, .step = static_cast<int>(step + 1)};
      copy.round = made.round;
      copy.unit = made.unit;
      copy.micro_batch = made.micro_batch;
      copy.bytes = made.bytes;
      copy.work = made.work;
      copy.cost = made.cost;
      result.tasks.push_back(std::move(copy));
    }
  }
  const std::size_t last_shift = (steps - 3) * n;
  const sim::Period period = *graph.graph.period();
  result.graph.set_period({later(period.first, last_shift), later(period.last, last_shift)});
  return result;
}

std::optional<StepCycle> step_cycle(const StepGraph& graph) {
  StepCycle found{many_steps(graph, kSteps), {}, {}};
  found.timeline = sim::simulate(sim::freeze(found.graph.graph, sim::Trust::validated));
  const sim::TaskId end = found.graph.graph.period()->last;
  const auto end_before = [&](std::size_t steps) {
    return sim::TaskId(static_cast<std::uint32_t>(sim::index(end) - steps * graph.tasks_per_step));
  };
  std::vector<Duration> steps;
  for (std::size_t before = kSteps - 1; before > 0; --before) {
    steps.push_back(found.timeline.period({end_before(before), end_before(before - 1)}));
  }
  for (std::size_t cycle = 1; cycle <= kLongestCycle; ++cycle) {
    if (!repeats(steps, cycle)) continue;
    if (cycle == 1) return std::nullopt;
    found.graph.graph.set_period({end_before(cycle), end, static_cast<std::int64_t>(cycle)});
    found.steps.assign(steps.end() - static_cast<std::ptrdiff_t>(cycle), steps.end());
    return found;
  }
  return std::nullopt;
}

}  // namespace sluice::planner
