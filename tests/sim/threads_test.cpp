#include <gtest/gtest.h>

#include <thread>

#include "sim/frozen_graph.hpp"
#include "tests/sim/random_graph.hpp"

namespace sluice::sim {
namespace {

TEST(Simulation, AThousandRunsOnFourThreadsAgreeWithOne) {
  constexpr std::uint64_t kGraphs = 25;
  constexpr std::size_t kThreads = 4;
  std::vector<FrozenGraph> graphs;
  std::vector<Outcome> expected;
  for (std::uint64_t seed = 0; seed < kGraphs; ++seed) {
    const TaskGraph graph = random_graph(seed, {.tasks = 200, .pools = false});
    graphs.push_back(freeze(graph));
    expected.push_back(outcome(simulate(graph)));
  }
  std::vector<int> differing(kThreads);
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int run = 0; run < 10; ++run) {
          for (std::size_t i = 0; i < graphs.size(); ++i) {
            if (outcome(simulate(graphs[i])) != expected[i]) ++differing[thread];
          }
        }
      });
    }
  }
  EXPECT_EQ(differing, std::vector<int>(kThreads));
}

}  // namespace
}  // namespace sluice::sim
