#include "planner/graph/steady_state.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

/// A graph of steps of four tasks of a quarter second on `compute`, each of which hands a slot of
/// six to a task of `store` seconds on `d2h`; `grads` ends with the last of compute.
StepGraph step_with_stores(double store) {
  StepGraph graph;
  sim::TaskGraph& g = graph.graph;
  const sim::LaneId compute = g.add_lane("compute"), d2h = g.add_lane("d2h");
  const sim::PoolId slots = g.add_pool("slot", Amount(6));
  std::vector<sim::TaskId> grads;
  for (int step = 1; step <= 3; ++step) {
    const std::string s = "s" + std::to_string(step) + "/";
    for (int i = 0; i < 4; ++i) {
      const auto made = g.add_task({.id = s + "make" + std::to_string(i),
                                    .lane = compute,
                                    .work = Seconds(0.25),
                                    .acquire = {{slots, Amount(1)}}});
      g.add_task({.id = s + "store" + std::to_string(i),
                  .lane = d2h,
                  .after = {made},
                  .work = Seconds(store),
                  .release = {{slots, Amount(1)}}});
    }
    grads.push_back(g.add_task({.id = s + "grads", .lane = compute}));
  }
  g.set_period({grads[1], grads[2]});
  graph.tasks_per_step = g.tasks().size() / 3;
  return graph;
}

double seconds(Duration time) { return to_seconds(time).count(); }

TEST(SteadyState, ALaneThatKeepsUpChangesNothing) {
  StepGraph graph = step_with_stores(0.2);
  EXPECT_NEAR(seconds(simulate_steady(graph).period(*graph.graph.period())), 1.0, 1e-9);
  for (const sim::Task& task : graph.graph.tasks()) EXPECT_EQ(task.latency.count(), 0) << task.id;
}

TEST(SteadyState, StepsWaitForALaneThatFallsBehind) {
  // Four stores of 0.4 s: a run does a step in 1.6 s once all six slots wait to be stored. Three
  // steps alone do not get there.
  StepGraph graph = step_with_stores(0.4);
  EXPECT_LT(seconds(sim::simulate(graph.graph).period(*graph.graph.period())), 1.5);
  const sim::Timeline steady = simulate_steady(graph);
  EXPECT_NEAR(seconds(steady.period(*graph.graph.period())), 1.6, 0.01);
}

TEST(SteadyState, TheGraphThatIsLeftSimulatesToTheSamePeriod) {
  StepGraph graph = step_with_stores(0.4);
  const Duration period = simulate_steady(graph).period(*graph.graph.period());
  EXPECT_EQ(sim::simulate(graph.graph).period(*graph.graph.period()), period);
}

}  // namespace
}  // namespace sluice::planner
