#include "planner/requests/request.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/policies/policy_changes.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/choose_plan.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/requests/run_step.hpp"
#include "planner/runs/run_machine.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/requests/run_of.hpp"

namespace sluice::planner {
namespace {

using test::empty_store;
using test::run_on_h200;
using test::ScratchFolder;

TEST(Request, HoldsTheRunsJobMachineAndPins) {
  RunConfig run = run_on_h200();
  run.plan_overrides = {{"weight_buffers", "1"}};
  const Request request = resolve(run, empty_store());
  EXPECT_EQ(job_hash(request.job()), job_hash(to_job(run)));
  EXPECT_EQ(request.machine().calibration_hash, to_machine(run).calibration_hash);
  EXPECT_FALSE(request.policy);
  EXPECT_TRUE(request.calibration.empty());
  Plan plan = uniform_plan(request.job(), {}, 1);
  request.search.pins(plan);
  EXPECT_EQ(plan.weight_buffers, 1);
}

TEST(Request, SaysWhatIsKnownOfItsMachine) {
  const ScratchFolder folder;
  const auto knowledge_on = [&](const std::string& machine, const char* fact = nullptr) {
    RunConfig run = run_on_h200();
    run.machine = machine;
    if (fact != nullptr) run.machine_overrides = {{fact, "0.9x"}};
    return resolve(run, empty_store()).machine().knowledge;
  };
  EXPECT_EQ(knowledge_on("h200"), Knowledge::catalogue);
  EXPECT_EQ(knowledge_on("4x-h200"), Knowledge::catalogue);
  EXPECT_EQ(knowledge_on("h200", "h2d"), Knowledge::catalogue);
  EXPECT_EQ(knowledge_on("h200", "dram"), Knowledge::catalogue_host_stated);
  EXPECT_EQ(knowledge_on("h200", "cores"), Knowledge::catalogue_host_stated);
  const auto parts = find_composition("rtx-4090");
  ASSERT_TRUE(parts.has_value());
  Composition other = *parts;
  other.ram.module_gib /= 2;
  EXPECT_EQ(knowledge_on("rtx-4090"), Knowledge::catalogue);
  EXPECT_EQ(knowledge_on(to_text(other)), Knowledge::catalogue_host_stated);

  MachineProfile probed = find_machine("h200");
  for (const auto& [depth, knowledge] : {std::pair(ProbeDepth::quick, Knowledge::quick_probe),
                                         {ProbeDepth::full, Knowledge::full_probe},
                                         {ProbeDepth::unstated, Knowledge::probe}}) {
    probed.probe = depth;
    const std::string file = folder.write("p.json", to_json_text(probed));
    EXPECT_EQ(read_profile(file).probe, depth);
    EXPECT_EQ(knowledge_on(file), knowledge);
    EXPECT_EQ(profile_hash(read_profile(file)), profile_hash(find_machine("h200")));
  }
}

TEST(Request, ReadsAPolicyFileOnce) {
  const ScratchFolder folder;
  RunConfig run = run_on_h200();
  run.policy = folder.write("mine.yaml", test::kPolicyText);
  const Request request = resolve(run, empty_store());
  std::filesystem::remove(*run.policy);
  EXPECT_EQ(request.job().loss_chunk, 32);
  EXPECT_EQ(policy_changes(run, request.job()), std::vector<std::string>{"loss_chunk 32"});
  const auto chosen = std::get<ChosenPlan>(choose_plan(request));
  EXPECT_EQ(chosen.step().prediction.plan.weight_buffers, 3);
  RunConfig other = run;
  other.batch_size = 4;
  EXPECT_EQ(request.with(other).job().batch_size, 4);
  EXPECT_TRUE(step_of_changed(request, other).has_value());
  EXPECT_ANY_THROW((void)resolve(run, empty_store())) << "the file is gone";
}

TEST(Request, ReadsAPolicyAgainWhereItsSettingsAreOthers) {
  const ScratchFolder folder;
  RunConfig run = run_on_h200();
  run.policy = folder.write("mine.yaml", test::kPolicyText);
  const Request request = resolve(run, empty_store());
  run.policy_overrides = {{"weight_buffers", "2"}, {"prefetch_depth", "1"}};
  const Request other = request.with(run);
  EXPECT_EQ(given_plan(other)->plan.weight_buffers, 2);
  std::filesystem::remove(*run.policy);
  EXPECT_EQ(given_plan(request.with(request.config))->plan.weight_buffers, 3);
  EXPECT_ANY_THROW((void)request.with(run));
}

TEST(Request, TakesThePolicyThatTheCommandLineHasRead) {
  const ScratchFolder folder;
  const std::string file = folder.write("mine.yaml", test::kPolicyText);
  const RunArguments words = parse_run({"--model", "bytes-2m", "--machine", "h200", "--seq-len",
                                        "64", "--batch-size", "8", "--policy", file});
  ASSERT_TRUE(words.policy);
  std::filesystem::remove(file);
  const Request request = resolve(words.config, empty_store(), words.policy);
  EXPECT_EQ(given_plan(request)->plan.weight_buffers, 3);
}

TEST(Request, RefusesWhatTheRunLacksBeforeItsPolicy) {
  RunConfig run = run_on_h200();
  run.policy = "no-such-policy";
  run.seq_len = 0;
  EXPECT_REFUSED((void)resolve(run, empty_store()), "seq_len is missing");
  run.seq_len = 64;
  run.model = "no-such-model";
  run.machine = "no-such-machine";
  EXPECT_REFUSED((void)resolve(run, empty_store()), "no-such-policy");
  run.policy.reset();
  EXPECT_REFUSED((void)resolve(run, empty_store()), "no-such-model");
  run.policy_overrides = {{"keep", "all"}};
  EXPECT_REFUSED((void)resolve(run, empty_store()), "policy.keep: no policy is given");
}

TEST(Request, WithAnotherCalibrationPredictsByIt) {
  const Request request = resolve(run_on_h200(), empty_store());
  const Plan plan = uniform_plan(request.job(), {}, 1);
  const Request again = request.with_calibration(request.calibration);
  EXPECT_EQ(again.predictor.costs().hash(), request.predictor.costs().hash());
  EXPECT_EQ(again.predictor.step(plan), request.predictor.step(plan));
  CalibrationSample sample;
  const CostKey key = copy_key(CopyDirection::h2d, Bytes(1 << 20));
  sample.key = key;
  sample.value = 1e6;
  Calibration slow;
  slow[key] = sample;
  EXPECT_NE(request.with_calibration(slow).predictor.costs().hash(),
            request.predictor.costs().hash());
}

}  // namespace
}  // namespace sluice::planner
