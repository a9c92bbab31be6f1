// Errors of a simulation that cannot go on.
#include <string>

#include "sim/error.hpp"
#include "sim/simulation.hpp"

namespace sluice::sim {

void Simulation::report_far() const {
  for (const LaneState& lane : lanes_) {
    if (lane.phase == Phase::idle) continue;
    throw BadRequest("task \"" + std::string(graph_.task_id(lane.task)) +
                     "\" would end after more than 126 years; check the units of its amount and of "
                     "the capacities it uses");
  }
  report_stuck();
}

void Simulation::report_stuck() const {
  const std::string when = " at " + std::to_string(to_seconds(Duration(now_)).count()) + " s: ";
  for (const LaneState& lane : lanes_) {
    if (lane.phase == Phase::flowing) {
      throw BadRequest("stalled" + when + "task \"" + std::string(graph_.task_id(lane.task)) +
                       "\" runs at rate 0; give its interference a factor above 0");
    }
  }
  for (const LaneState& lane : lanes_) {
    if (!lane.waits_for_pool) continue;
    const std::string id(graph_.task_id(lane.task));
    for (const FrozenHold& hold : graph_.acquires(lane.task)) {
      const PoolState& pool = pools_[hold.pool];
      if (pool.held + hold.amount <= pool.capacity + pool.slack) continue;
      const auto shown = [](double amount) {
        std::string text = std::to_string(amount);
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
        return text;
      };
      throw BadRequest("deadlock" + when + "task \"" + id + "\" waits for pool \"" +
                       graph_.pool_name(hold.pool) + "\" (needs " + shown(hold.amount) + ", " +
                       shown(pool.held) + " of " + shown(pool.capacity) +
                       " held) and nothing that runs will release it; give the pool more or "
                       "release earlier");
    }
  }
  for (const LaneState& lane : lanes_) {
    if (lane.task == FrozenGraph::kNone) continue;
    throw BadRequest("deadlock" + when + "task \"" + std::string(graph_.task_id(lane.task)) +
                     "\" waits for a predecessor that never runs");
  }
  check(false, "unfinished tasks are at the head of a lane");
  throw BadRequest("deadlock");
}

std::optional<Duration> period_of(const TaskGraph& graph, const Timeline& timeline) {
  if (!graph.period()) return std::nullopt;
  const Duration period = timeline.period(*graph.period());
  if (period >= Duration(0)) return period;
  const std::string& first = graph.task(graph.period()->first).id;
  const std::string& last = graph.task(graph.period()->last).id;
  throw BadRequest("period: task \"" + first + "\" ends after \"" + last +
                   "\": name them [first, last], the one that ends first first");
}

}  // namespace sluice::sim
