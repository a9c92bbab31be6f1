#include "planner/predictions/chain_bound.hpp"

#include <gtest/gtest.h>

#include "planner/graph/steady_state.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

sim::Task task(sim::LaneId lane, double seconds, decltype(sim::Task::after) after = {}) {
  sim::Task made;
  made.lane = lane;
  made.work = Seconds(seconds);
  made.after = std::move(after);
  return made;
}

TEST(ChainBound, IsTheLongestWayAlongDependenciesAndLanes) {
  sim::TaskGraph graph;
  const sim::LaneId compute = graph.add_lane("compute"), copy = graph.add_lane("copy");
  const sim::TaskId first = graph.add_task(task(compute, 7));
  graph.add_task(task(compute, 2));
  const sim::TaskId load = graph.add_task(task(copy, 4, {first}));
  const sim::TaskId last = graph.add_task(task(compute, 1, {load}));
  graph.set_period({first, last});
  // 4 + 1 along the copy, 2 + 1 along the lane; tasks before the period's first do not count.
  EXPECT_NEAR(chain_bound(graph).count(), 5, 1e-8);
}

TEST(ChainBound, IsZeroWhereTheLastTaskWaitsForNothingOfThePeriod) {
  sim::TaskGraph graph;
  const sim::LaneId compute = graph.add_lane("compute"), copy = graph.add_lane("copy");
  const sim::TaskId first = graph.add_task(task(compute, 7));
  const sim::TaskId last = graph.add_task(task(copy, 4));
  graph.set_period({first, last});
  EXPECT_EQ(chain_bound(graph), Seconds(0));
}

TEST(ChainBound, NoRandomPlanIsFasterThanItsChains) {
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
    const Job job = test::tiny_job();
    const Predictor predictor(job, test::round_machine(device), {});
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      StepGraph graph = build_step_graph(job, random_plan(job, seed), predictor.costs());
      const Seconds chain = chain_bound(graph.graph);
      EXPECT_GT(chain, Seconds(0));
      const Duration step = simulate_steady(graph).period(*graph.graph.period());
      EXPECT_LE(chain, to_seconds(step)) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace sluice::planner
