#include "planner/graph/every_rank.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/graph/step_builder.hpp"
#include "planner/graph/step_cycle.hpp"
#include "planner/machines/lane.hpp"
#include "sim/error.hpp"
#include "sim/frozen_graph.hpp"

namespace sluice::planner {
namespace {

/// Steps that are simulated; the last one stands for all later ones.
constexpr std::size_t kStepsOfAll = 8;

/// Adds the ranks' graphs to one graph, rank by rank.
class Joiner {
 public:
  Joiner(std::span<const RankGraph> ranks, const std::set<std::string>& shared)
      : ranks_(ranks), shared_(shared), tasks_(ranks.front().graph->tasks()) {
    const auto lane = ranks.front().graph->find_lane(to_string(LaneKind::fabric));
    check(lane.has_value(), "graphs of several ranks have a lane of collectives");
    fabric_ = *lane;
    std::uint32_t place = 0;
    for (const sim::Task& task : tasks_) {
      if (is_collective(task)) {
        result_.arrivals.push_back(place);
        place += 2;  // the arrival and the movement
      }
      result_.places.push_back(place++);
    }
    result_.tasks_of_rank = place;
  }

  EveryRank join() {
    add_shared_links();
    result_.graph.reserve_tasks(ranks_.size() * result_.tasks_of_rank);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      check(ranks_[rank].graph->tasks().size() == tasks_.size(), "ranks have the same tasks");
      add_resources(rank);
      for (std::size_t i = 0; i < tasks_.size(); ++i) add_task(rank, i);
    }
    const auto& period = ranks_.front().graph->period();
    check(period.has_value(), "a step graph has a period");
    result_.graph.set_period({result_.task(0, sim::index(period->first)),
                              result_.task(0, sim::index(period->last)), period->steps});
    return std::move(result_);
  }

 private:
  /// Numbers that a rank's lanes, links and pools have in the whole graph.
  struct Resources {
    std::vector<sim::LaneId> lanes;
    std::vector<sim::LinkId> links;
    std::vector<sim::PoolId> pools;
  };

  [[nodiscard]] bool is_collective(const sim::Task& task) const { return task.lane == fabric_; }

  static std::string own(std::size_t rank, const std::string& name) {
    return name.empty() ? name : "r" + std::to_string(rank) + "/" + name;
  }

  void add_shared_links() {
    std::map<std::pair<std::int64_t, std::string>, double> capacities;
    for (const RankGraph& rank : ranks_) {
      for (const sim::Link& link : rank.graph->links()) {
        if (shared_.contains(link.name)) {
          capacities[{rank.node, link.name}] += link.capacity.count();
        }
      }
    }
    for (const auto& [key, capacity] : capacities) {
      const std::string name = "node" + std::to_string(key.first) + "/" + key.second;
      shared_links_.emplace(key, result_.graph.add_link(name, Rate(capacity)));
    }
  }

  void add_resources(std::size_t rank) {
    const sim::TaskGraph& from = *ranks_[rank].graph;
    Resources all;
    for (const sim::Lane& lane : from.lanes()) {
      all.lanes.push_back(result_.graph.add_lane(own(rank, lane.name)));
    }
    for (const sim::Link& link : from.links()) {
      const auto common = shared_links_.find({ranks_[rank].node, link.name});
      all.links.push_back(common != shared_links_.end()
                              ? common->second
                              : result_.graph.add_link(own(rank, link.name), link.capacity));
    }
    for (const sim::Pool& pool : from.pools()) {
      all.pools.push_back(result_.graph.add_pool(own(rank, pool.name), pool.capacity));
    }
    for (sim::Interference each : from.interference()) {
      each.on = all.lanes[sim::index(each.on)];
      each.from = all.lanes[sim::index(each.from)];
      result_.graph.add_interference(each);
    }
    for (sim::Boost boost : from.boosts()) {
      boost.lane = all.lanes[sim::index(boost.lane)];
      result_.graph.add_boost(boost);
    }
    resources_.push_back(std::move(all));
  }

  void add_task(std::size_t rank, std::size_t i) {
    const Resources& own_resources = resources_[rank];
    sim::Task task = ranks_[rank].graph->tasks()[i];
    const bool collective = is_collective(task);
    task.id = own(rank, task.id);
    task.lane = own_resources.lanes[sim::index(task.lane)];
    for (sim::TaskId& before : task.after) before = result_.task(rank, sim::index(before));
    if (auto* flow = std::get_if<sim::Flow>(&task.work)) {
      for (sim::Use& use : flow->uses) use.link = own_resources.links[sim::index(use.link)];
    }
    for (auto* holds : {&task.acquire, &task.release}) {
      for (sim::Hold& hold : *holds) hold.pool = own_resources.pools[sim::index(hold.pool)];
    }
    if (collective) {
      add_collective(std::move(task), result_.places[i]);
    } else {
      result_.graph.add_task(std::move(task));
    }
  }

  /// Adds a rank's arrival at a collective, which takes its memory, the movement of its bytes once
  /// all have arrived, and its end once all have ended.
  void add_collective(sim::Task task, std::uint32_t place) {
    const auto of_all = [&](std::uint32_t at) {
      decltype(sim::Task::after) all;
      for (std::size_t rank = 0; rank < ranks_.size(); ++rank) all.push_back(result_.at(rank, at));
      return all;
    };
    const auto named = [&task](const char* part) {
      return task.id.empty() ? task.id : task.id + part;
    };
    sim::Task arrival{.id = named("/arrive"), .lane = task.lane};
    arrival.after = std::exchange(task.after, of_all(place - 2));
    arrival.acquire = std::exchange(task.acquire, {});
    sim::Task end{.id = task.id, .lane = task.lane};
    end.after = of_all(place - 1);
    end.release = std::exchange(task.release, {});
    task.id = named("/move");
    result_.graph.add_task(std::move(arrival));
    result_.graph.add_task(std::move(task));
    result_.graph.add_task(std::move(end));
  }

  std::span<const RankGraph> ranks_;
  const std::set<std::string>& shared_;
  std::span<const sim::Task> tasks_;  ///< Those of rank 0, as which all ranks have them.
  sim::LaneId fabric_{};
  std::map<std::pair<std::int64_t, std::string>, sim::LinkId> shared_links_;
  std::vector<Resources> resources_;
  EveryRank result_;
};

/// Makes tasks of the compute lane run at `speed` times their speed.
void set_speed(sim::TaskGraph& graph, double speed) {
  const auto compute = graph.find_lane(to_string(LaneKind::compute));
  check(compute.has_value() && speed > 0, "a rank computes");
  for (sim::Task& task : graph.mutable_tasks()) {
    if (task.lane != *compute) continue;
    if (auto* flow = std::get_if<sim::Flow>(&task.work)) {
      flow->amount = flow->amount / speed;
    } else {
      std::get<Seconds>(task.work) /= speed;
    }
  }
}

}  // namespace

EveryRank every_rank(std::span<const RankGraph> ranks, const std::set<std::string>& shared) {
  check(ranks.size() > 1, "several ranks have a graph each");
  return Joiner(ranks, shared).join();
}

std::set<std::string> shared_links(const CostModel& costs, const Plan& plan) {
  std::set<std::string> names;
  const auto add = [&names](const std::vector<CostModel::LinkCapacity>& links) {
    for (const CostModel::LinkCapacity& link : links) {
      if (link.shared) names.insert(link.name);
    }
  };
  add(costs.links());
  if (uses_disk(plan)) add(costs.disk_links());
  return names;
}

EveryRankStep simulate_every_rank(const Job& job, const Plan& plan,
                                  std::span<const RankOfHost> ranks) {
  check(std::cmp_equal(ranks.size(), plan.ranks) && ranks.size() > 1,
        "every rank of a plan of several has costs");
  std::map<std::pair<const CostModel*, double>, StepGraph> graphs;
  std::vector<RankGraph> each;
  for (const RankOfHost& rank : ranks) {
    const std::pair key(rank.costs, rank.speed);
    auto found = graphs.find(key);
    if (found == graphs.end()) {
      found = graphs.emplace(key, many_steps(write_step_graph(job, plan, *rank.costs), kStepsOfAll))
                  .first;
      if (rank.speed != 1) set_speed(found->second.graph, rank.speed);
    }
    each.push_back({&found->second.graph, rank.node});
  }
  const EveryRank all = every_rank(each, shared_links(*ranks.front().costs, plan));
  const sim::Timeline timeline = sim::simulate(all.graph);
  EveryRankStep result;
  result.step = timeline.period(*all.graph.period());
  const Instant begin = timeline.spans[sim::index(all.graph.period()->first)].end;
  const Instant end = timeline.spans[sim::index(all.graph.period()->last)].end;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    Duration waited{0};
    for (const std::uint32_t place : all.arrivals) {
      const Instant arrived = timeline.spans[sim::index(all.at(rank, place))].end;
      const Instant moved = timeline.spans[sim::index(all.at(rank, place + 1))].start;
      waited += std::clamp(moved, begin, end) - std::clamp(arrived, begin, end);
    }
    result.waits.push_back(waited);
  }
  return result;
}

}  // namespace sluice::planner
