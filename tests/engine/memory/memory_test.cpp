// A run touches exactly the memory that its plan states, to the byte, task by task.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "engine/execution/program.hpp"
#include "engine/host/host_device.hpp"
#include "engine/state/training_state.hpp"
#include "engine/training/step_runner.hpp"
#include "planner/plans/random_plan.hpp"
#include "sim/error.hpp"
#include "tests/engine/run_plan.hpp"

namespace sluice::engine::test {
namespace {

constexpr std::byte kPoison{0xFF};

/// A host device with the plan's sizes.
HostDevice make_device(const planner::Job& job, const planner::StepGraph& graph) {
  const ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  const LinkPace fast{BytesPerSecond(1e10), Seconds(0)};
  return HostDevice(job, {.arenas = sizes, .capacity = sizes, .h2d = fast, .d2h = fast});
}

TEST(ArenaPeak, MeasuredIsPredictedToTheByte) {
  for (const NamedJob& each : small_jobs()) {
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      const planner::Plan plan = planner::random_plan(each.job, seed);
      const planner::StepGraph graph = graph_of(each.job, plan);
      SyntheticTokens tokens(each.job.model.vocab, 1);
      const auto session = make_session(each.job, graph, plan, tokens);
      session->run_to(1);
      EXPECT_EQ(session->touched(planner::Arena::device), graph.layout.device_bytes)
          << each.name << ", " << describe(plan);
      EXPECT_EQ(session->touched(planner::Arena::host), graph.layout.host_bytes)
          << each.name << ", " << describe(plan);
    }
  }
}

TEST(ArenaPeak, AnArenaLargerThanItsCapacityIsRefused) {
  const planner::Job job = small_jobs()[0].job;
  const planner::StepGraph graph = graph_of(job, planner::random_plan(job, 1));
  const ArenaSizes sizes{graph.layout.device_bytes, graph.layout.host_bytes};
  for (const ArenaSizes capacity : {ArenaSizes{sizes.device - Bytes(1), sizes.host},
                                    ArenaSizes{sizes.device, sizes.host - Bytes(1)}}) {
    try {
      HostDevice(job, {.arenas = sizes, .capacity = capacity, .h2d = {}, .d2h = {}});
      FAIL() << "an arena beyond its capacity was made";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::does_not_fit);
    }
  }
}

/// Runs tasks one at a time in an arena where everything that a task does not declare, and
/// everything that it declares to write without reading, is NaN; then restores the undeclared
/// bytes.
class SuspiciousRunner {
 public:
  SuspiciousRunner(Device& device, const Program& program, StepRunner& runner)
      : device_(device), program_(program), runner_(runner) {}

  void run(std::uint32_t index, std::int64_t step) {
    const BoundTask& task = program_.task(index);
    const std::vector<std::byte> device_before = copy(planner::Arena::device);
    const std::vector<std::byte> host_before = copy(planner::Arena::host);
    poison_all_but_reads(task, device_before, host_before);
    runner_.run(index, step);
    for (const planner::Arena arena : {planner::Arena::device, planner::Arena::host}) {
      restore(task, arena, arena == planner::Arena::device ? device_before : host_before);
    }
  }

 private:
  std::vector<std::byte> copy(planner::Arena arena) {
    const std::span<std::byte> bytes = device_.arena(arena);
    return {bytes.begin(), bytes.end()};
  }

  static bool inside(const BoundAccess& access, std::span<std::byte> arena) {
    return access.data >= arena.data() && access.data < arena.data() + arena.size();
  }

  void poison_all_but_reads(const BoundTask& task, const std::vector<std::byte>& device_before,
                            const std::vector<std::byte>& host_before) {
    for (const planner::Arena which : {planner::Arena::device, planner::Arena::host}) {
      const std::span<std::byte> arena = device_.arena(which);
      const auto& before = which == planner::Arena::device ? device_before : host_before;
      std::fill(arena.begin(), arena.end(), kPoison);
      for (const BoundAccess& access : task.accesses) {
        if (access.mode == planner::Mode::write || !inside(access, arena)) continue;
        std::memcpy(access.data, before.data() + (access.data - arena.data()),
                    static_cast<std::size_t>(access.bytes.count()));
      }
    }
  }

  void restore(const BoundTask& task, planner::Arena which, const std::vector<std::byte>& before) {
    const std::span<std::byte> arena = device_.arena(which);
    std::vector<std::byte> after = copy(which);
    std::memcpy(arena.data(), before.data(), before.size());
    for (const BoundAccess& access : task.accesses) {
      if (!inside(access, arena)) continue;
      const auto at = static_cast<std::size_t>(access.data - arena.data());
      const auto bytes = static_cast<std::size_t>(access.bytes.count());
      if (access.mode == planner::Mode::read) {
        EXPECT_EQ(std::memcmp(after.data() + at, before.data() + at, bytes), 0)
            << to_string(task.kind) << " of unit " << task.unit
            << " wrote what it declares to read";
      } else {
        std::memcpy(arena.data() + at, after.data() + at, bytes);
      }
      std::memset(after.data() + at, std::to_integer<int>(kPoison), bytes);
    }
    const auto stray = std::ranges::find_if(after, [](std::byte b) { return b != kPoison; });
    EXPECT_TRUE(stray == after.end())
        << to_string(task.kind) << " of unit " << task.unit << " wrote byte "
        << stray - after.begin() << " of an arena, which it does not declare";
  }

  Device& device_;
  const Program& program_;
  StepRunner& runner_;
};

TEST(Accesses, AreAllThatATaskReadsAndWrites) {
  // Each plan runs serially with everything undeclared poisoned; its results must equal those of
  // the ordinary run.
  for (const NamedJob& each : small_jobs()) {
    for (std::uint64_t seed = 20; seed < 22; ++seed) {
      const planner::Plan plan = planner::random_plan(each.job, seed);
      const planner::StepGraph graph = graph_of(each.job, plan);
      HostDevice device = make_device(each.job, graph);
      const Program program(graph, device);
      TrainingState state(each.job.model, graph, device);
      state.initialize(11);
      RunTokens tokens(each.job);
      const double lr = each.job.optimizer.lr;
      StepRunner runner(program, device, each.job, tokens,
                        [lr](std::int64_t step) { return lr / static_cast<double>(step); });
      runner.expect(1, 2);
      SuspiciousRunner suspicious(device, program, runner);
      for (std::int64_t step = 1; step <= 2; ++step) {
        for (const std::uint32_t task : program.topological_order()) suspicious.run(task, step);
      }
      const Outcome expected = run_plan(each.job, plan, 2);
      EXPECT_EQ(state.weights_sha256(), expected.weights_sha256)
          << each.name << ", " << describe(plan);
      EXPECT_EQ(state.state_sha256(), expected.state_sha256) << each.name << ", " << describe(plan);
    }
  }
}

}  // namespace
}  // namespace sluice::engine::test
