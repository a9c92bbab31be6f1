// Times that no schedule beats, and the chain that determined a given one.
#include <algorithm>
#include <cmath>

#include "sim/alone_time.hpp"
#include "sim/boost.hpp"
#include "sim/simulate.hpp"
#include "sim/topology.hpp"

namespace sluice::sim {
namespace {

/// The largest factor by which interference can speed a lane up: 1 unless a factor is above 1.
std::vector<double> best_factors(const TaskGraph& graph) {
  std::vector<double> best(graph.lanes().size(), 1);
  for (const Interference& entry : graph.interference()) {
    best[index(entry.on)] *= std::max(1.0, entry.factor);
  }
  return best;
}

/// A bound within rounding of a whole nanosecond is that nanosecond, as it is for the ends of
/// tasks: otherwise the last bit of a sum could put the bound above the makespan.
Seconds snapped(Seconds bound) {
  const double ns = bound.count() * 1e9;
  const double whole = std::round(ns);
  return std::abs(ns - whole) <= 1e-6 + 1e-13 * whole ? Seconds(whole / 1e9) : bound;
}

}  // namespace

AloneTime alone_time(const TaskGraph& graph, const Task& task, double best_factor) {
  const auto* flow = std::get_if<Flow>(&task.work);
  if (flow == nullptr) {
    return {task.latency + std::get<Seconds>(task.work) / best_factor, std::nullopt};
  }
  if (flow->amount.count() == 0) return {task.latency, std::nullopt};
  AloneTime alone;
  if (flow->cap) alone.time = flow->amount / (*flow->cap * best_factor);
  for (const Use& use : flow->uses) {
    const Seconds full = (flow->amount * use.per_unit) / graph.links()[index(use.link)].capacity;
    if (full <= alone.time) continue;
    alone = {full, use.link};
  }
  alone.time = task.latency + alone.time;
  return alone;
}

Seconds rested_time(const TaskGraph& graph, const Task& task, double best_factor) {
  const Seconds alone = alone_time(graph, task, best_factor).time;
  const Boost* boost = task.boosts > 0 ? graph.boost_of(task.lane) : nullptr;
  if (boost == nullptr) return alone;
  // The simulation stores the share as a rounded float; match it.
  LaneRest lane = LaneRest({boost->gain, boost->most, boost->window.count(), boost->lasting_gain,
                            boost->lasting_window.count()})
                      .of_share(static_cast<float>(task.boosts));
  lane.set_rest(1, 1);
  return task.latency + Seconds(lane.time_for((alone - task.latency).count()));
}

Bounds bounds(const TaskGraph& graph) {
  const std::vector<double> best = best_factors(graph);
  std::vector<Seconds> lane(graph.lanes().size(), Seconds(0));
  std::vector<double> moved(graph.links().size());
  std::vector<Seconds> end(graph.tasks().size(), Seconds(0));
  Bounds bounds;
  for (const TaskId id : topological_order(graph, Edges::dependencies)) {
    const Task& task = graph.task(id);
    Seconds start{0};
    for (const TaskId before : task.after) start = std::max(start, end[index(before)]);
    const Seconds alone = alone_time(graph, task, best[index(task.lane)]).time;
    end[index(id)] = start + rested_time(graph, task, best[index(task.lane)]);
    bounds.chain = std::max(bounds.chain, end[index(id)]);
    lane[index(task.lane)] += alone;
    if (const auto* flow = std::get_if<Flow>(&task.work)) {
      for (const Use& use : flow->uses) {
        moved[index(use.link)] += flow->amount.count() * use.per_unit;
      }
    }
  }
  for (std::size_t i = 0; i < lane.size(); ++i) {
    if (lane[i] <= bounds.lane) continue;
    bounds.lane = lane[i];
    bounds.busiest_lane = LaneId(static_cast<std::uint32_t>(i));
  }
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const Seconds full = Amount(moved[i]) / graph.links()[i].capacity;
    if (full <= bounds.link) continue;
    bounds.link = full;
    bounds.busiest_link = LinkId(static_cast<std::uint32_t>(i));
  }
  bounds.chain = snapped(bounds.chain);
  bounds.lane = snapped(bounds.lane);
  bounds.link = snapped(bounds.link);
  return bounds;
}

std::vector<TaskId> critical_path(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<TaskId> path;
  if (graph.tasks().empty()) return path;
  const auto last = std::max_element(
      timeline.spans.begin(), timeline.spans.end(),
      [](const Timeline::Span& a, const Timeline::Span& b) { return a.end < b.end; });
  std::optional<TaskId> task = TaskId(static_cast<std::uint32_t>(last - timeline.spans.begin()));
  for (; task; task = timeline.enabled_by[index(*task)]) path.push_back(*task);
  return path;
}

}  // namespace sluice::sim
