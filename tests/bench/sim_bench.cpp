// Task completions a second: eight lanes of flows that share links, from 1 thousand tasks to 1
// million. `items_per_second` is task completions a second on one core.
#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "sim/frozen_graph.hpp"
#include "sim/simulate.hpp"

namespace sluice::sim {
namespace {

constexpr std::uint32_t kLanes = 8;

/// Eight flows at any time: every one uses `dram`, every two share a second link, half have caps;
/// each task also waits for one of another lane.
TaskGraph eight_flows(std::size_t tasks) {
  TaskGraph graph;
  std::mt19937_64 random(1);
  const auto uniform = [&random](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  for (std::uint32_t lane = 0; lane < kLanes; ++lane) graph.add_lane("lane" + std::to_string(lane));
  const LinkId dram = graph.add_link("dram", Rate(160e9));
  for (std::uint32_t link = 0; link < kLanes / 2; ++link) {
    graph.add_link("bus" + std::to_string(link), Rate(55e9));
  }
  for (std::size_t i = 0; i < tasks; ++i) {
    const auto lane = static_cast<std::uint32_t>(i % kLanes);
    Flow flow{.amount = Amount(uniform(1e6, 3e6)),
              .cap = std::nullopt,
              .weight = uniform(0.5, 2),
              .uses = {{dram, 1}, {LinkId(1 + lane / 2), 1}}};
    if (lane % 2 == 0) flow.cap = Rate(uniform(10e9, 50e9));
    Task task{.id = std::to_string(i), .lane = LaneId(lane), .after = {}, .work = flow};
    if (i >= 4 * kLanes) {
      task.after.push_back(TaskId(static_cast<std::uint32_t>(i - 4 * kLanes + 1)));
    }
    graph.add_task(std::move(task));
  }
  return graph;
}

void simulate_eight_flows(benchmark::State& state) {
  const FrozenGraph graph = freeze(eight_flows(static_cast<std::size_t>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(simulate(graph).makespan);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(simulate_eight_flows)->RangeMultiplier(10)->Range(1000, 10000000);

void simulate_fixed_times(benchmark::State& state) {
  TaskGraph graph = eight_flows(static_cast<std::size_t>(state.range(0)));
  for (Task& task : graph.mutable_tasks()) task.work = Seconds(1e-4);
  const FrozenGraph frozen = freeze(graph);
  for (auto _ : state) benchmark::DoNotOptimize(simulate(frozen).makespan);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(simulate_fixed_times)->RangeMultiplier(10)->Range(1000, 10000000);

void freeze_graph(benchmark::State& state) {
  const TaskGraph graph = eight_flows(20000);
  const Trust trust = state.range(0) != 0 ? Trust::validated : Trust::check;
  for (auto _ : state) benchmark::DoNotOptimize(freeze(graph, trust).task_count());
  state.SetItemsProcessed(state.iterations() * 20000);
}
BENCHMARK(freeze_graph)->ArgName("trusted")->Arg(0)->Arg(1);

}  // namespace
}  // namespace sluice::sim

BENCHMARK_MAIN();
