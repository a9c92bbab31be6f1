#include "planner/graph/step_cycle.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "planner/graph/steady_state.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/plans/random_plan.hpp"
#include "sim/graph_file.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using namespace std::chrono_literals;

/// A graph of steps in which `grads` of `make` seconds waits for the step before's `use`, the store
/// of a step for `grads` of the step before, and its use for its store:
///
///   grads(n) = use(n - 1) + make,   store(n) = grads(n - 1) + store,   use(n) = store(n) + use
///
/// so that grads(n + 2) = grads(n) + make + store + use: two steps take that together, and how they
/// share it depends on the first step.
StepGraph turns(double make, double store, double use) {
  StepGraph graph;
  sim::TaskGraph& g = graph.graph;
  const sim::LaneId compute = g.add_lane("compute"), d2h = g.add_lane("d2h"),
                    cpu = g.add_lane("cpu");
  std::vector<sim::TaskId> grads, uses;
  for (int step = 1; step <= 3; ++step) {
    const std::string s = "s" + std::to_string(step) + "/";
    decltype(sim::Task::after) used, made;
    if (step > 1) {
      used = {uses.back()};
      made = {grads.back()};
    }
    grads.push_back(
        g.add_task({.id = s + "grads", .lane = compute, .after = used, .work = Seconds(make)}));
    const auto stored =
        g.add_task({.id = s + "store", .lane = d2h, .after = made, .work = Seconds(store)});
    uses.push_back(
        g.add_task({.id = s + "use", .lane = cpu, .after = {stored}, .work = Seconds(use)}));
  }
  g.set_period({grads[1], grads[2]});
  graph.tasks_per_step = g.tasks().size() / 3;
  graph.tasks.resize(g.tasks().size());
  return graph;
}

TEST(StepCycle, StepsThatTakeTurnsHaveTheirMean) {
  // Ends of grads: 1, 4, 5.5, 8, 9.5, ... s; two steps of 1 + 1.5 + 1.5 s.
  StepGraph graph = turns(1, 1.5, 1.5);
  const std::string before = sim::write_graph(graph.graph);
  const SteadySteps found = steady_steps(graph, LookForCycles::always);
  ASSERT_TRUE(found.cycle.has_value());
  EXPECT_EQ(found.cycle->steps, (std::vector<Duration>{1500ms, 2500ms}));
  EXPECT_EQ(found.step, Duration(2s));
  EXPECT_EQ(sim::write_graph(graph.graph), before);
}

TEST(StepCycle, TheGraphOfManyStepsSimulatesToTheMean) {
  StepGraph graph = turns(1, 1.5, 1.7000000010);
  const SteadySteps found = steady_steps(graph, LookForCycles::always);
  ASSERT_TRUE(found.cycle.has_value());
  const std::string text = sim::write_graph(found.cycle->graph.graph);
  EXPECT_NE(text.find("\"period_steps\": 2"), std::string::npos);
  const sim::TaskGraph read = sim::read_graph(text, "g.json");
  EXPECT_EQ(sim::period_of(read, sim::simulate(read)), found.step);
  // An odd number of nanoseconds over two steps, rounded down.
  EXPECT_EQ(found.step, Duration(2'100'000'000));
}

TEST(StepCycle, EqualStepsAreNone) {
  // use(n) + make is as late as store(n + 1): every step takes the d2h lane's 3 s.
  StepGraph graph = turns(1, 3, 0.5);
  EXPECT_FALSE(step_cycle(graph).has_value());
  EXPECT_FALSE(steady_steps(graph, LookForCycles::always).cycle.has_value());
}

TEST(StepCycle, MoreStepsOfAPlanAreItsSecondAgain) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Job job = test::tiny_job(seed % 2 == 0);
    const StepGraph three = build_step_graph(job, random_plan(job, seed), test::RoundCosts());
    const StepGraph more = many_steps(three, 6);
    const std::size_t n = three.tasks_per_step;
    ASSERT_EQ(more.tasks.size(), 6 * n);
    EXPECT_NO_THROW(sim::validate(more.graph)) << "seed " << seed;
    EXPECT_EQ(more.graph.task(more.graph.period()->last).id, "s6/grads");
    // The first steps do not depend on how many follow, but for slots that a next step takes.
    const sim::Timeline long_run = sim::simulate(more.graph);
    const sim::Timeline short_run = sim::simulate(three.graph);
    for (std::size_t i = 0; i < 2 * n; ++i) {
      EXPECT_EQ(more.graph.tasks()[i].id, three.graph.tasks()[i].id);
      EXPECT_EQ(long_run.spans[i].end, short_run.spans[i].end) << more.graph.tasks()[i].id;
    }
  }
}

}  // namespace
}  // namespace sluice::planner
