#include "planner/plans/plan.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "planner/catalogue/catalogue.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/plans/plan_overrides.hpp"
#include "planner/runs/run_config.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

Job small_job() {
  Job job;
  job.model = find_model("bytes-2m");
  job.seq_len = 64;
  job.batch_size = 8;
  return job;
}

TEST(Job, RefusesSizesThatMakeNoStep) {
  Job job = small_job();
  EXPECT_NO_THROW(validate(job));
  job.micro_batch = 3;
  EXPECT_REFUSED(validate(job), "micro_batch: 3 does not divide batch_size (8)");
  job = small_job();
  job.seq_len = 0;
  EXPECT_REFUSED(validate(job), "seq_len: 0");
  job = small_job();
  job.groups = 8;
  EXPECT_NO_THROW(validate(job));
  job.groups = 9;
  EXPECT_REFUSED(validate(job), "groups: 9 must be between 1 and the step's 8 micro-batches");
  job.micro_batch = 4;
  job.groups = 3;
  EXPECT_REFUSED(validate(job), "groups: 3 must be between 1 and the step's 2 micro-batches");
  job.groups = 0;
  EXPECT_REFUSED(validate(job), "groups: 0");
  job = small_job();
  job.sequence_chunk = 32;
  job.groups = 2;
  EXPECT_REFUSED(validate(job), "groups: above 1 does not go with sequence_chunk");
  job = small_job();
  job.optimizer.beta2 = 1;
  EXPECT_REFUSED(validate(job), "optimizer.betas");
}

TEST(JobHash, ChangesWithWhatChangesBitsAndWithNothingElse) {
  const Job job = small_job();
  Job same = job;
  same.model.name = "another name";
  same.optimizer.lr = 1;
  EXPECT_EQ(job_hash(same), job_hash(job));
  Job other = job;
  other.loss_chunk = 512;
  EXPECT_NE(job_hash(other), job_hash(job));
  other = job;
  other.optimizer.clip.reset();
  EXPECT_NE(job_hash(other), job_hash(job));
}

// Job hashes of runs, plans and checkpoints that were made before jobs had groups.
TEST(JobHash, OfOneGroupIsThatOfAJobWithoutGroups) {
  EXPECT_EQ(job_hash(test::tiny_job()),
            "dde859173c478cdd636ab6d0fcc43dd4d0cb5b8e2b9a725b49745301e06c3522");
  EXPECT_EQ(job_hash(test::tiny_job(true)),
            "dd38c6fa7ebb036dad09a4eeeede355e4b131142eb98eead14c2faeae45442f7");
  std::set<std::string> hashes;
  for (std::int64_t groups = 1; groups <= 4; ++groups) {
    Job job = test::tiny_job();
    job.groups = groups;
    hashes.insert(job_hash(job));
  }
  EXPECT_EQ(hashes.size(), 4U);
}

TEST(Plan, TheCombinationsThatRunAreAccepted) {
  Job job = small_job();
  const UnitPlan streamed;
  const UnitPlan resident_copy = {.weights = Tier::hbm, .gradients = Tier::hbm};
  const UnitPlan resident = {.weights = Tier::hbm,
                             .gradients = Tier::hbm,
                             .state = Tier::hbm,
                             .keep = Keep::all,
                             .executor = Executor::gpu,
                             .when = When::after};
  UnitPlan staged = resident;
  staged.state = Tier::host;
  UnitPlan staged_and_streamed = staged;
  staged_and_streamed.weights = Tier::host;
  for (const UnitPlan& unit : {streamed, resident_copy, resident, staged, staged_and_streamed}) {
    EXPECT_NO_THROW(validate(uniform_plan(job, unit, 2), job));
  }
  job.optimizer.clip.reset();
  EXPECT_NO_THROW(validate(uniform_plan(job, {.when = When::backward}, 4), job));
}

TEST(Plan, WhatIsOnlyPredictedIsValidAndNotExecuted) {
  const Job job = small_job();
  Plan slots = uniform_plan(job, {}, job.micro_batches());
  slots.activation_buffers = 2;
  const auto saved = static_cast<std::size_t>(job.model.layers - 2);
  slots.saved_records.assign(saved, Keep::attention);
  EXPECT_NO_THROW(validate(slots, job));
  EXPECT_REFUSED(require_executable(slots), "saved_records is predicted and not executed");
  slots.saved_records.push_back(Keep::input_kv);
  EXPECT_REFUSED(validate(slots, job), "saved_records");
}

TEST(Plan, EveryOtherCombinationIsRefusedNamingTheField) {
  const Job job = small_job();
  const auto refused = [&job](UnitPlan unit, const char* part) {
    Plan plan = uniform_plan(job, {}, 1);
    plan.units[3] = unit;
    EXPECT_REFUSED(validate(plan, job), part);
  };
  refused({.weights = Tier::disk}, "plan: layers[3].weights: disk needs state disk");
  refused({.gradients = Tier::disk}, "layers[3].gradients");
  refused({.keep_tier = Tier::disk}, "layers[3].keep_tier");
  refused({.state = Tier::hbm}, "layers[3].state: hbm does not go with executor cpu");
  refused({.state = Tier::hbm, .executor = Executor::gpu, .when = When::after},
          "layers[3].weights: host does not go with state hbm");
  refused(
      {.weights = Tier::hbm, .state = Tier::hbm, .executor = Executor::gpu, .when = When::after},
      "layers[3].gradients: host does not go with executor gpu");
  refused(
      {.weights = Tier::hbm, .gradients = Tier::hbm, .state = Tier::hbm, .executor = Executor::gpu},
      "layers[3].when: forward does not go with executor gpu");
  refused({.when = When::backward}, "layers[3].when: backward needs clipping off");
  Job unclipped = job;
  unclipped.optimizer.clip.reset();
  const UnitPlan staged = {
      .gradients = Tier::hbm, .executor = Executor::gpu, .when = When::backward};
  EXPECT_REFUSED(validate(uniform_plan(unclipped, staged, 1), unclipped),
                 "layers[0].when: backward does not go with executor gpu and state host of staging "
                 "whole");
}

TEST(Plan, CountsMustMakeTheJob) {
  const Job job = small_job();
  const auto refused = [&job](auto change, const char* part) {
    Plan plan = uniform_plan(job, {}, 1);
    change(plan);
    EXPECT_REFUSED(validate(plan, job), part);
  };
  refused([](Plan& plan) { plan.weight_buffers = 0; }, "plan: weight_buffers: 0");
  refused([](Plan& plan) { plan.prefetch_depth = 2; }, "prefetch_depth: 2 must be between 0 and");
  refused([](Plan& plan) { plan.rounds = 3; }, "rounds: 3 rounds of 8");
  refused([](Plan& plan) { plan.copy_chunk = Bytes(100); }, "copy_chunk_bytes: 100");
  refused([](Plan& plan) { plan.threads = 0; }, "threads");
  refused([](Plan& plan) { plan.state_buffers = -1; }, "state_buffers: -1");
  refused([](Plan& plan) { plan.stream_buffers = 1; }, "stream_buffers: 1 must be between 2 and 4");
  refused([](Plan& plan) { plan.stream_buffers = 5; }, "stream_buffers: 5");
  refused([](Plan& plan) { plan.units.pop_back(); }, "layers: 7 entries for a model of 8 units");
  refused([](Plan& plan) { plan.units[0].keep = Keep::all; }, "layers[0].keep");
}

TEST(Plan, ATiedHeadsGradientStaysWithTheEmbeddings) {
  Job job = small_job();
  job.model.tied_head = true;
  Plan plan = uniform_plan(job, {}, 1);
  plan.units.front().gradients = Tier::hbm;
  EXPECT_REFUSED(validate(plan, job), "layers[7].gradients: must equal layers[0].gradients");
}

TEST(PlanHash, DependsOnEveryField) {
  const Job job = small_job();
  const Plan plan = uniform_plan(job, {}, 1);
  const auto differs = [&plan](auto change) {
    Plan other = plan;
    change(other);
    EXPECT_NE(plan_hash(other), plan_hash(plan));
  };
  EXPECT_EQ(plan_hash(plan), plan_hash(Plan(plan)));
  differs([](Plan& p) { ++p.weight_buffers; });
  differs([](Plan& p) { ++p.gradient_buffers; });
  differs([](Plan& p) { ++p.activation_buffers; });
  differs([](Plan& p) { ++p.state_buffers; });
  differs([](Plan& p) { ++p.stream_buffers; });
  differs([](Plan& p) { --p.prefetch_depth; });
  differs([](Plan& p) { p.rounds = 2; });
  differs([](Plan& p) { p.micro_batches_per_round = 4; });
  differs([](Plan& p) { p.copy_chunk = 1_MiB; });
  differs([](Plan& p) { ++p.threads; });
  differs([](Plan& p) { p.units[2].keep = Keep::all; });
  differs([](Plan& p) { p.units[2].keep_tier = Tier::host; });
  differs([](Plan& p) { p.units[2].gradients = Tier::hbm; });
}

TEST(PlanOverrides, PinFieldsAndMoveWhatDependsOnThem) {
  const Job job = small_job();
  RunConfig run;
  set_path(run, "plan.rounds", "4");
  set_path(run, "plan.weight_buffers", "1");
  set_path(run, "plan.keep", "selective");
  set_path(run, "plan.layers[2].keep", "all");
  set_path(run, "plan.copy_chunk", "64 KiB");
  Plan plan = uniform_plan(job, {}, 1);
  apply_plan_overrides(plan, job, run.plan_overrides, run.threads);
  EXPECT_NO_THROW(validate(plan, job));
  EXPECT_EQ(plan.micro_batches_per_round, 2);
  EXPECT_EQ(plan.prefetch_depth, 0);
  EXPECT_EQ(plan.copy_chunk, 64_KiB);
  EXPECT_EQ(plan.units[0].keep, Keep::input) << "the embedding keeps nothing";
  EXPECT_EQ(plan.units[1].keep, Keep::selective);
  EXPECT_EQ(plan.units[2].keep, Keep::all) << "one layer wins over all layers";
  set_path(run, "plan.layers[9].keep", "all");
  EXPECT_REFUSED(apply_plan_overrides(plan, job, run.plan_overrides, run.threads),
                 "layers[0] (embed) to layers[7] (head)");
  EXPECT_REFUSED(set_path(run, "plan.weight_bufers", "2"), "did you mean \"weight_buffers\"");
  EXPECT_REFUSED(set_path(run, "plan.keep", "some"), "is not one of input, selective, all");
}

PlanFile file_for(const Job& job) {
  PlanFile file;
  file.job_hash = job_hash(job);
  file.profile_hash = "abc";
  file.plan = uniform_plan(job, {.keep = Keep::all}, 2);
  file.layout = {{"device", "weights/0", Bytes(256), Bytes(1024), "s2/r0/load/L0/fwd/c0", "s2/x"}};
  file.prediction = PlanPrediction{.step = Seconds(0.1), .bound_by = "h2d"};
  return file;
}

TEST(PlanFile, ReadsBackWhatItWrites) {
  const PlanFile file = file_for(small_job());
  EXPECT_EQ(plan_file_from_json(to_json_text(file), "plan.json"), file);
}

TEST(PlanFile, IsRefusedForAnotherJob) {
  Job job = small_job();
  const PlanFile file = file_for(job);
  EXPECT_NO_THROW(check_plan_for(file, job));
  job.seq_len = 128;
  EXPECT_REFUSED(check_plan_for(file, job), "the plan is for another job");
}

TEST(PlanFile, NamesTheFieldThatIsWrong) {
  const std::string text = to_json_text(file_for(small_job()));
  const auto changed = [&text](const std::string& from, const std::string& to) {
    std::string other = text;
    return other.replace(other.find(from), from.size(), to);
  };
  const auto parse = [](const std::string& json) { return plan_file_from_json(json, "p.json"); };
  EXPECT_REFUSED(parse(changed("\"keep\": \"input\"", "\"keep\": \"inputs\"")),
                 "p.json: layers[0]: keep: \"inputs\" is not one of");
  EXPECT_REFUSED(parse(changed("\"threads\": 1", "\"thread\": 1")), "did you mean \"threads\"");
  EXPECT_REFUSED(parse(changed("sluice/plan/1", "sluice/plan/9")), "schema");
  EXPECT_REFUSED(parse("{"), "p.json: line 1");
}

TEST(Plan, LoadsRunAheadInAllWeightBuffersButOne) {
  Plan plan = uniform_plan(small_job(), {}, 1);
  set_weight_buffers(plan, 3);
  EXPECT_EQ(plan.weight_buffers, 3);
  EXPECT_EQ(plan.prefetch_depth, 2);
  plan.weight_buffers = 1;
  limit_prefetch(plan);
  EXPECT_EQ(plan.prefetch_depth, 0);
  plan.weight_buffers = 4;
  limit_prefetch(plan);
  EXPECT_EQ(plan.prefetch_depth, 0);
}

}  // namespace
}  // namespace sluice::planner
