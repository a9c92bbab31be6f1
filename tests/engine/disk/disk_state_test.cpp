// State, gradients and weights on the disk give the same bits as in memory.
#include <gtest/gtest.h>

#include <set>

#include "engine/state/state_snapshot.hpp"
#include "tests/engine/disk_plans.hpp"
#include "tests/engine/scratch_folder.hpp"
#include "tests/planner/disk_jobs.hpp"

namespace sluice::engine {
namespace {

using planner::Tier;
using test::disk_plan;
using test::DiskSession;
using test::pieced_job;

constexpr std::int64_t kDiskSteps = 3;

class DiskState : public test::OnDisk {};

TEST_P(DiskState, AnyShareGivesTheBitsOfNone) {
  for (const auto& [name, job] : test::small_jobs()) {
    const std::size_t units = planner::unit_count(job.model);
    const auto none = test::run_plan(job, disk_plan(job, units), kDiskSteps);
    for (const std::size_t first : {units / 2, std::size_t{0}}) {
      EXPECT_EQ(test::run_plan(job, disk_plan(job, first), kDiskSteps, place()), none)
          << name << ", from unit " << first;
    }
    // A tied head's gradient waits in the same place as the embedding's.
    for (const std::size_t first : {job.model.tied_head ? 0 : units / 2, std::size_t{0}}) {
      for (const std::int64_t rounds : {std::int64_t{1}, std::int64_t{2}, job.micro_batches()}) {
        const planner::Plan plan = disk_plan(job, first, Tier::disk, rounds);
        EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
            << name << ", gradients from unit " << first << " in " << rounds << " rounds";
      }
    }
    for (const std::size_t first : {units - 1, units / 2, std::size_t{0}}) {
      for (const std::int64_t rounds : {std::int64_t{1}, job.micro_batches()}) {
        const planner::Plan plan = disk_plan(job, first, Tier::host, rounds, Tier::disk);
        EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
            << name << ", weights from unit " << first << " in " << rounds << " rounds";
      }
    }
    const planner::Plan all = disk_plan(job, 0, Tier::disk, 2, Tier::disk);
    EXPECT_EQ(test::run_plan(job, all, kDiskSteps, place()), none) << name << ", everything";
  }
}

TEST_P(DiskState, AnyPlanWithAnyOfItsTensorsThereGivesTheSameBits) {
  constexpr std::uint64_t kPlans = 6;
  std::set<Tier> weights, gradients, state;
  for (const auto& [name, job] : test::small_jobs()) {
    const auto none = test::run_plan(job, disk_plan(job, planner::unit_count(job.model)), 2);
    for (std::uint64_t seed = 0; seed < kPlans; ++seed) {
      const std::uint64_t units = seed == 0 ? ~0ull : (seed + 1) * 0x9E3779B97F4A7C15u;
      const planner::Plan plan = planner::test::random_disk_plan(job, seed, units);
      for (const planner::UnitPlan& unit : plan.units) {
        weights.insert(unit.weights);
        gradients.insert(unit.gradients);
        state.insert(unit.state);
      }
      EXPECT_EQ(test::run_plan(job, plan, 2, place()), none)
          << name << ", seed " << seed << ": " << test::describe(plan);
    }
  }
  for (const auto* tiers : {&weights, &gradients, &state}) EXPECT_EQ(tiers->size(), 3U);
}

TEST_P(DiskState, PiecesAndBuffersChangeNoBit) {
  const planner::Job job = pieced_job();
  const auto none = test::run_plan(job, disk_plan(job, planner::unit_count(job.model)), kDiskSteps);
  for (const std::int64_t buffers : {1, 2, 5}) {
    planner::Plan plan = disk_plan(job, 0);
    plan.disk_buffers = buffers;
    EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none) << buffers << " buffers";
    plan = disk_plan(job, 0, Tier::disk);
    plan.disk_buffers = buffers;
    EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
        << buffers << " buffers, gradients there";
    plan = disk_plan(job, 0, Tier::disk, 2, Tier::disk);
    plan.disk_buffers = buffers;
    plan.copy_chunk = Bytes(100'000);  // This size does not divide a piece.
    EXPECT_EQ(test::run_plan(job, plan, kDiskSteps, place()), none)
        << buffers << " buffers, weights there";
  }
}

TEST_P(DiskState, ARunGoesOnUnderAnotherShare) {
  const planner::Job job = pieced_job();
  const std::size_t units = planner::unit_count(job.model);
  const planner::Plan on_disk = disk_plan(job, 0, Tier::disk, 2, Tier::disk);
  const planner::Plan in_memory = disk_plan(job, units, Tier::disk, 2, Tier::disk);
  const DiskSession whole(job, in_memory, place());
  whole->run_to(4);
  const DiskSession disk(job, on_disk, place());
  disk->run_to(2);
  StateSnapshot snapshot(job.model, disk->state());
  snapshot.take(disk->state());
  const DiskSession memory(job, in_memory, place());
  const LoadedState from{.source = snapshot, .moments = LoadedState::Moments::loaded};
  memory->state().load(from);
  memory->continue_after(2);
  memory->run_to(3);
  const DiskSession back(job, on_disk, place());
  back->state().load({.source = memory->state(), .moments = LoadedState::Moments::loaded});
  back->continue_after(3);
  back->run_to(4);
  EXPECT_EQ(back->state().weights_sha256(), whole->state().weights_sha256());
  EXPECT_EQ(back->state().state_sha256(), whole->state().state_sha256());
}

INSTANTIATE_TEST_SUITE_P(Io, DiskState, test::disk_kinds(), test::disk_kind_name);

}  // namespace
}  // namespace sluice::engine
