// The step graphs of all ranks of a host in one simulation.
//
// A prediction simulates one rank with its share of what ranks have in common, which is exact where
// ranks are equal. Here every rank is there: shared links have their whole capacity, and a
// collective begins when the last rank has arrived at it and ends on all ranks together. So ranks
// may differ: another GPU, a NUMA node with less memory bandwidth.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/plans/plan.hpp"
#include "sim/simulate.hpp"

namespace sluice::planner {

/// The graph of one rank, and the NUMA node whose memory and cores it uses.
struct RankGraph {
  const sim::TaskGraph* graph;
  std::int64_t node = 0;
};

/// One graph of all ranks. Task i of rank r's graph is task (r, i) of `graph`; of a collective it
/// is the moment at which all ranks have ended it.
struct EveryRank {
  sim::TaskGraph graph;
  std::size_t tasks_of_rank = 0;      ///< Number of tasks of `graph` for each rank.
  std::vector<std::uint32_t> places;  ///< Place of task i among those of its rank.
  /// Places of the moments at which a rank arrives at a collective.
  std::vector<std::uint32_t> arrivals;

  [[nodiscard]] sim::TaskId task(std::size_t rank, std::size_t i) const {
    return at(rank, places[i]);
  }
  [[nodiscard]] sim::TaskId at(std::size_t rank, std::size_t place) const {
    return sim::TaskId(static_cast<std::uint32_t>(rank * tasks_of_rank + place));
  }
};

/// The graphs of `ranks`, which have the same tasks in the same order, as one: lanes, pools and
/// links are each rank's own, but links named in `shared` are one for all ranks of a node, with the
/// sum of the capacities that its ranks' graphs state. The period is that of rank 0.
[[nodiscard]] EveryRank every_rank(std::span<const RankGraph> ranks,
                                   const std::set<std::string>& shared);

/// Names of the links that all ranks of a host use together under `plan`.
[[nodiscard]] std::set<std::string> shared_links(const CostModel& costs, const Plan& plan);

/// One rank of a host: its costs, its NUMA node, and the speed of its compute lane over the one
/// that its costs state.
struct RankOfHost {
  const CostModel* costs;
  std::int64_t node = 0;
  double speed = 1;
};

/// Steps of all ranks in the middle of a long run.
struct EveryRankStep {
  Duration step{0};
  /// For each rank the part of the step for which it waits at collectives for ranks that have not
  /// arrived. The rank that the others wait for has the least.
  std::vector<Duration> waits;
};

/// The step of `plan` on ranks that may differ, one for each of the plan's ranks, from a simulation
/// of several steps of all of them. Costs must be of one kind of device and name the same links.
/// Throws BadRequest where they have no fabric.
[[nodiscard]] EveryRankStep simulate_every_rank(const Job& job, const Plan& plan,
                                                std::span<const RankOfHost> ranks);

}  // namespace sluice::planner
