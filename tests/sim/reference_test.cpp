#include <gtest/gtest.h>

#include "sim/event_queue.hpp"
#include "tests/sim/reference_simulator.hpp"

namespace sluice::sim {
namespace {

TEST(Simulation, AgreesToTheNanosecondWithAReferenceWrittenFromTheContract) {
  std::size_t finished = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const TaskGraph graph = random_graph(seed, {.tasks = 24});
    const Outcome expected = reference_outcome(graph);
    EXPECT_EQ(outcome(graph), expected) << "seed " << seed;
    finished += expected.deadlock ? 0 : 1;
  }
  EXPECT_GT(finished, 75U) << "most graphs must run to the end for this to mean something";
}

TEST(Simulation, AgreesWithTheReferenceWhereLanesRest) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const TaskGraph graph = random_graph(seed, {.tasks = 24, .pools = false, .boost = true});
    EXPECT_EQ(outcome(graph), reference_outcome(graph)) << "seed " << seed;
  }
}

// Enough lanes for the event queue's tree and for every way in which ceilings are sorted.
TEST(Simulation, AgreesWithTheReferenceOnManyLanes) {
  std::size_t tree = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const TaskGraph graph = random_graph(seed, {.tasks = 120, .most_lanes = 60, .pools = false});
    tree += graph.lanes().size() > EventQueue::kFlat ? 1 : 0;
    EXPECT_EQ(outcome(graph), reference_outcome(graph)) << "seed " << seed;
  }
  EXPECT_GT(tree, 30U);
}

TEST(Simulation, AgreesWithTheReferenceWhereManyEventsCoincide) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const TaskGraph graph = random_graph(
        seed, {.tasks = 30, .pools = false, .interference = false, .fractions = false});
    EXPECT_EQ(outcome(graph), reference_outcome(graph)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sluice::sim
