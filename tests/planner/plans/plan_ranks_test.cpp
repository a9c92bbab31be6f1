// Numbers of ranks that plans may have, and what goes with them.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "planner/models/slices.hpp"
#include "planner/plans/plan.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

Job shared_job(std::int64_t groups, std::int64_t micro_batches = 8) {
  Job job = test::tiny_job();
  job.batch_size = micro_batches;
  job.groups = groups;
  return job;
}

Plan shared_plan(const Job& job, std::int64_t ranks) {
  Plan plan = uniform_plan(part_of_rank(job, ranks), UnitPlan{}, 1);
  plan.ranks = ranks;
  return plan;
}

TEST(Slices, AreEqualRunsOfWholeBlocksAndOneRankHasTheVector) {
  EXPECT_EQ(slice_parameters(37120, 1), 37120);
  EXPECT_EQ(slice_parameters(37120, 2), 5 * 4096);  // 9.06 blocks are 10
  EXPECT_EQ(slice_parameters(37120, 4), 3 * 4096);
  EXPECT_EQ(sliced_parameters(37120, 4), 12 * 4096);
  EXPECT_EQ(slice_parameters(64, 8), 4096);
}

TEST(Slices, ThePartsOfAllRanksAreTheStep) {
  for (const std::int64_t groups : {2, 4, 8}) {
    const Job job = shared_job(groups);
    const Job part = part_of_rank(job, 2);
    EXPECT_EQ(part.micro_batches(), 4);
    EXPECT_EQ(part.groups, groups / 2);
    EXPECT_EQ(part_of_rank(job, 1).batch_size, job.batch_size);
  }
}

TEST(PlanRanks, AreThoseThatShareTheTreeAndDivideTheMicroBatches) {
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(ranks_of(shared_job(1)), (Numbers{1}));
  EXPECT_EQ(ranks_of(shared_job(8)), (Numbers{1, 2, 4, 8}));
  EXPECT_EQ(ranks_of(shared_job(4, 6)), (Numbers{1, 2}));
  EXPECT_EQ(ranks_of(shared_job(6, 12)), (Numbers{1, 3, 6}));
  EXPECT_EQ(ranks_of(shared_job(6, 8)), (Numbers{1}));
}

TEST(PlanRanks, OthersAreRefusedWithTheListOfThoseThatAreNot) {
  const Job job = shared_job(4);
  Plan plan = shared_plan(job, 4);
  validate(plan, job);
  plan.ranks = 8;
  EXPECT_EQ(
      refusal([&] { validate(plan, job); }),
      "plan: ranks: 8 cannot share a step of 8 micro-batches in 4 groups: set it to one of 1, "
      "2, 4, or change groups or batch_size of the job");
  plan.ranks = 2;
  EXPECT_EQ(refusal([&] { validate(plan, job); }),
            "plan: rounds: 1 rounds of 2 micro-batches must make the rank's 4");
}

TEST(PlanRanks, WhatRanksCannotHaveIsRefusedByItsField) {
  Job job = shared_job(4);
  job.optimizer.clip.reset();
  const Plan sound = shared_plan(job, 2);
  const auto refused = [&](const std::function<void(Plan&)>& change) {
    Plan plan = sound;
    change(plan);
    return refusal([&] { validate(plan, job); });
  };
  const std::string by_two = " does not go with 2 ranks in this version: ";
  const auto on_disk = [](Plan& plan) {
    plan.units[1].state = plan.units[1].gradients = Tier::disk;
    plan.units[1].executor = Executor::cpu;
    plan.units[1].when = When::after;
  };
  EXPECT_NO_THROW(refused([&](Plan& plan) {
    on_disk(plan);
    validate(plan, job);
    plan.receive_buffers = 0;  // Anything that is refused.
  }));
  EXPECT_EQ(refused([&](Plan& plan) {
              on_disk(plan);
              plan.rounds = 2;
              plan.micro_batches_per_round = 2;
            }),
            "plan: layers[1].gradients:" + by_two +
                "set disk to host, plan one round, or set ranks to 1");
  EXPECT_EQ(
      refused([](Plan& plan) { plan.units[1].resident = Extent::slice; }),
      "plan: layers[1].resident: slice needs several ranks, weights hbm and executor gpu: set "
      "them, or leave resident out");
  EXPECT_EQ(refused([](Plan& plan) { plan.saved_records = {Keep::input}; }),
            "plan: saved_records:" + by_two + "leave it out, or set ranks to 1");
  EXPECT_EQ(refused([](Plan& plan) { plan.exchange_piece = Bytes(4096); }),
            "plan: exchange_piece_bytes: 4096 must be at least 16384");
  EXPECT_EQ(refused([](Plan& plan) { plan.receive_buffers = 0; }),
            "plan: receive_buffers: 0 must be between 1 and 64");
  EXPECT_EQ(refused([](Plan& plan) { plan.hosts = 2; }),
            "plan: hosts: 2 must be 1, or hold 2, 4, 8, ... of the 2 ranks each");
}

TEST(PlanRanks, HostsThatSumHoldCompletePartsOfTheTree) {
  EXPECT_EQ(summing_hosts(8, 2), 2);
  EXPECT_EQ(summing_hosts(6, 3), 3);
  // Three ranks are no part of the tree of six, a single one has nothing to sum.
  for (const std::int64_t hosts : {2, 4, 6, 1}) EXPECT_EQ(summing_hosts(6, hosts), 1) << hosts;
}

TEST(PlanRanks, AFileOfOneRankDoesNotNameThemAndOneOfSeveralReadsBack) {
  const Job job = shared_job(4);
  PlanFile one;
  one.plan = uniform_plan(job, UnitPlan{}, 1);
  one.plan.exchange_piece = Bytes(1 << 20);
  const std::string text = to_json_text(one);
  for (const char* field : {"ranks", "hosts", "exchange_piece_bytes", "receive_buffers"}) {
    EXPECT_EQ(text.find(field), std::string::npos) << field;
  }
  EXPECT_EQ(plan_hash(one.plan), plan_hash(uniform_plan(job, UnitPlan{}, 1)));
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    PlanFile file;
    file.plan = random_plan(job, seed, 4);
    EXPECT_EQ(plan_file_from_json(to_json_text(file), "plan.json").plan, file.plan);
    Plan more = file.plan;
    more.receive_buffers += 1;
    EXPECT_NE(plan_hash(more), plan_hash(file.plan));
    file.plan.hosts = 2;
    EXPECT_EQ(plan_file_from_json(to_json_text(file), "plan.json").plan, file.plan);
    more.receive_buffers -= 1;
    EXPECT_NE(plan_hash(more), plan_hash(file.plan));
  }
}

}  // namespace
}  // namespace sluice::planner
