#include "planner/predictions/chain_bound.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/alone_time.hpp"
#include "sim/error.hpp"
#include "sim/topology.hpp"

namespace sluice::planner {

Seconds chain_bound(const sim::TaskGraph& graph) {
  check(graph.period().has_value(), "a graph whose chains are bounded has a period");
  // Ends are whole nanoseconds, so each task may end this much earlier than its time says.
  constexpr Seconds kRounding(1e-9);
  const auto [first, last, steps] = *graph.period();
  std::vector<std::optional<Seconds>> end(graph.tasks().size());
  std::vector<std::optional<Seconds>> lane_end(graph.lanes().size());
  const auto follow = [](std::optional<Seconds>& start, const std::optional<Seconds>& before) {
    if (before) start = start ? std::max(*start, *before) : *before;
  };
  for (const sim::TaskId id : sim::topological_order(graph, sim::Edges::dependencies_and_lanes)) {
    const sim::Task& task = graph.task(id);
    std::optional<Seconds> start = lane_end[sim::index(task.lane)];
    for (const sim::TaskId before : task.after) follow(start, end[sim::index(before)]);
    std::optional<Seconds>& own = end[sim::index(id)];
    if (id == first) {
      own = Seconds(0);
    } else if (start) {
      own = *start + std::max(Seconds(0), sim::rested_time(graph, task) - kRounding);
    }
    if (own) lane_end[sim::index(task.lane)] = own;
  }
  return end[sim::index(last)].value_or(Seconds(0)) / static_cast<double>(steps);
}

}  // namespace sluice::planner
