#include "planner/policies/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/profile_rates.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/policies/ml_dataflow.hpp"
#include "planner/policies/policy_file.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/requests/request.hpp"
#include "planner/runs/run_machine.hpp"
#include "sim/error.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

RunConfig run_of(const std::string& policy, const std::string& model = "bytes-2m") {
  RunConfig run;
  run.model = model;
  run.machine = "h200";
  run.seq_len = 64;
  run.batch_size = 8;
  run.policy = policy;
  return run;
}

GivenPlan policy_plan(const RunConfig& run, const Job& job) {
  return policy_plan(run, Policy(run), job, to_machine(run));
}

/// A run of 8 B parameters in 32 layers, with chunks of 16 sequences and two rounds of two chunks:
/// 64 records a round.
RunConfig columns_run(std::int64_t input, std::int64_t attention, std::int64_t full) {
  RunConfig run = run_of("ml_dataflow", "llama-3.1-8b");
  run.machine = "h100-sxm";
  run.seq_len = 1024;
  run.batch_size = 64;
  run.policy_overrides = {{"chunk_size", "16384"},
                          {"num_rounds_per_step", "2"},
                          {"total_dev_acts", "14"},
                          {"total_home_acts", "50"},
                          {"num_inp_only_saved", std::to_string(input)},
                          {"num_inp_attn_saved", std::to_string(attention)},
                          {"num_full_saved", std::to_string(full)}};
  return run;
}

std::int64_t count(const Plan& plan, Keep level) {
  return std::ranges::count(plan.saved_records, level);
}

std::int64_t host_peak(StateType state) {
  RunConfig run = run_of("zero-infinity");
  run.optimizer.state = state;
  const Predictor predictor(to_job(run), to_machine(run), {});
  const GivenPlan made = policy_plan(run, predictor.job());
  return at(predictor.predict(made.plan).prediction.memory, Tier::host).peak.count();
}

TEST(Policy, EveryNamedOneYieldsAPlanThatIsValidAndPredicted) {
  for (const std::string& name : policy_names()) {
    RunConfig run = run_of(name);
    if (name == "ml_dataflow") run.policy_overrides["chunk_size"] = "64";
    const Job job = to_job(run);
    const GivenPlan made = policy_plan(run, job);
    EXPECT_NO_THROW(validate(made.plan, job)) << name;
    EXPECT_FALSE(policy_summary(name).empty()) << name;
    const Predictor predictor(job, to_machine(run), {});
    EXPECT_GT(predictor.predict(made.plan).prediction.step, Duration(0)) << name;
  }
}

TEST(Policy, NamesSayWhereThingsAre) {
  const auto block = [](const std::string& name) {
    const RunConfig run = run_of(name);
    return policy_plan(run, to_job(run)).plan.units[1];
  };
  EXPECT_EQ(block("resident").keep, Keep::all);
  EXPECT_EQ(block("resident-recompute").keep, Keep::input);
  EXPECT_EQ(block("resident").state, Tier::hbm);
  EXPECT_EQ(block("zero-offload").weights, Tier::hbm);
  EXPECT_EQ(block("zero-infinity").weights, Tier::host);
  for (const char* name : {"zero-offload", "zero-infinity", "fsdp2-offload"}) {
    EXPECT_EQ(block(name).executor, Executor::cpu) << name;
    EXPECT_EQ(block(name).when, When::after) << name;
  }
}

TEST(Policy, AnUnknownNameIsRefusedNamingTheNearest) {
  const RunConfig run = run_of("zero-infinty");
  EXPECT_REFUSED(to_job(run), "did you mean \"zero-infinity\"?");
}

TEST(Policy, PinsAndSettingsOverrideTheRule) {
  RunConfig run = run_of("zero-infinity");
  run.policy_overrides["keep"] = "all";
  run.plan_overrides["weight_buffers"] = "2";
  const Plan plan = policy_plan(run, to_job(run)).plan;
  EXPECT_EQ(plan.units[1].keep, Keep::all);
  EXPECT_EQ(plan.weight_buffers, 2);
  run.policy_overrides = {{"keeep", "all"}};
  EXPECT_REFUSED(policy_plan(run, to_job(run)), "keep");
}

TEST(PolicyFile, StatesOperatorsAndPassesOfTheCpu) {
  const PolicyFile file = policy_from_yaml(
      "name: mine\noperators: eager\nplan: {checkpoint_interval: 4}\npasses:\n"
      "  - {name: norm, moment: before_update, over: all, threads: one, bytes: 2.5}\n",
      "mine.yaml");
  EXPECT_EQ(file.operators, Operators::eager);
  const Plan plan = plan_of(file, to_job(run_of("megatrain")));
  EXPECT_EQ(plan.checkpoint_interval, 4);
  ASSERT_EQ(plan.host_passes.size(), 1u);
  EXPECT_EQ(
      plan.host_passes[0],
      (HostPass{.name = "norm", .threads = HostPass::Threads::one, .bytes_per_parameter = 2.5}));
  const auto refused = [](const std::string& text) {
    return refusal([&] { (void)policy_from_yaml(text, "mine.yaml"); });
  };
  EXPECT_NE(refused("name: a\noperators: lazy\n").find("mine.yaml: line 2: operators"),
            std::string::npos);
  EXPECT_NE(refused("passes:\n  - {name: a, bites: 2}\n").find("did you mean \"bytes\"?"),
            std::string::npos);
  EXPECT_NE(refused("passes:\n  - {name: a}\n").find("line 2: passes: bytes: must be above 0"),
            std::string::npos);
}

TEST(Policy, OnlyPeersOwnProgramsAreEager) {
  for (const std::string& name : policy_names()) {
    RunConfig run = run_of(name);
    if (name == "ml_dataflow") run.policy_overrides["chunk_size"] = "64";
    const bool own = name == "megatrain" || name == "fsdp2-offload-eager";
    EXPECT_EQ(to_job(run).operators == Operators::eager, own) << name;
    EXPECT_EQ(policy_plan(run, to_job(run)).plan.host_passes.empty(), !own) << name;
  }
  RunConfig run = run_of("fsdp2-offload");
  run.policy_overrides["operators"] = "eager";
  EXPECT_EQ(to_job(run).operators, Operators::eager);
  EXPECT_REFUSED((require_executable(to_job(run)), 0), "policy.operators is predicted");
  run.policy_overrides["operators"] = "egaer";
  EXPECT_REFUSED(to_job(run), "policy.operators");
}

TEST(PolicyFile, IsAPlanWithEndsOfItsOwn) {
  const PolicyFile file = policy_from_yaml(
      "name: mine\njob: {optimizer.clip: \"off\"}\nplan: {weights: host, weight_buffers: 3}\n"
      "ends: {weights: hbm}\n",
      "mine.yaml");
  EXPECT_EQ(file.name, "mine");
  EXPECT_EQ(file.job.at("optimizer.clip"), "off");
  RunConfig run = run_of("");
  run.policy.reset();
  const Plan plan = plan_of(file, to_job(run));
  EXPECT_EQ(plan.weight_buffers, 3);
  EXPECT_EQ(plan.units.front().weights, Tier::hbm);
  EXPECT_EQ(plan.units.back().weights, Tier::hbm);
  EXPECT_EQ(plan.units[1].weights, Tier::host);
}

TEST(PolicyFile, RefusesAnUnknownKeyNamingLineAndNearest) {
  const auto read = [](const std::string& text) { return policy_from_yaml(text, "mine.yaml"); };
  EXPECT_REFUSED(read("name: mine\nplans: {keep: all}\n"),
                 "mine.yaml: line 2: plans: unknown key; did you mean \"plan\"?");
  EXPECT_REFUSED(read("name: mine\nplan: {wieghts: host}\n"), "did you mean \"weights\"?");
  EXPECT_REFUSED(read("job: {optimizer.stat: bf16}\n"), "did you mean \"optimizer.state\"?");
  EXPECT_REFUSED(read("plan: {keep: [all]}\n"), "keep: must be one value");
  EXPECT_REFUSED(read("plan: all\n"), "must be a map");
}

TEST(MlDataflow, ColumnsAreRoundsChunksAndSavedRecords) {
  const RunConfig run = columns_run(0, 35, 15);
  const Job job = to_job(run);
  EXPECT_EQ(job.micro_batch, 16);
  EXPECT_EQ(job.micro_tokens(), 16384);
  EXPECT_EQ(job.optimizer.state, StateType::bf16_weights);
  EXPECT_FALSE(job.optimizer.clip.has_value());
  const Plan plan = policy_plan(run, job).plan;
  EXPECT_EQ(plan.rounds, 2);
  EXPECT_EQ(plan.micro_batches_per_round, 2);
  EXPECT_EQ(plan.activation_buffers, 14);
  EXPECT_EQ(plan.saved_records.size(), 50u);
  EXPECT_EQ(count(plan, Keep::attention), 35);
  EXPECT_EQ(count(plan, Keep::all), 15);
}

TEST(MlDataflow, AllThreeLevelsMayStandTogether) {
  const RunConfig run = columns_run(10, 25, 15);
  const Plan plan = policy_plan(run, to_job(run)).plan;
  EXPECT_EQ(count(plan, Keep::input_kv), 10);
  EXPECT_EQ(count(plan, Keep::attention), 25);
  EXPECT_EQ(count(plan, Keep::all), 15);
  // Records of the lowest level are those at the front of the sequences: the first chunk of the
  // first layers.
  EXPECT_EQ(plan.saved_records[0], Keep::input_kv);
  EXPECT_NE(plan.saved_records[1], Keep::input_kv);
}

TEST(MlDataflow, LongSequencesAreSplitIntoChunks) {
  RunConfig run = columns_run(0, 0, 0);
  run.policy_overrides = {{"chunk_size", "16384"}, {"seqs_per_step", "3"}};
  run.seq_len = 65536;
  const Job job = to_job(run);
  EXPECT_EQ(job.batch_size, 3);
  EXPECT_EQ(job.chunks_per_sequence(), 4);
  EXPECT_EQ(job.micro_batches(), 12);
  run.policy_overrides["chunk_size"] = "10000";
  EXPECT_REFUSED(to_job(run), "policy.chunk_size: 10000 must divide seq_len (65536)");
}

TEST(MlDataflow, RefusesRecordsThatDoNotAddUpAndUnknownColumns) {
  const RunConfig run = columns_run(0, 35, 16);
  EXPECT_REFUSED(policy_plan(run, to_job(run)), "must make the 64 records of a round");
  EXPECT_REFUSED(ml_dataflow_columns({{"chunk_sise", "1"}}), "did you mean \"chunk_size\"?");
}

TEST(MlDataflow, RecordsThatTheColumnsLeaveOpenFillTheMemory) {
  RunConfig run = columns_run(0, 0, 0);
  run.policy_overrides = {{"dev_mem_gb", "40"}, {"host_mem_gb", "200"}};
  const GivenPlan made = policy_plan(run, to_job(run));
  ASSERT_TRUE(made.policy_memory);
  EXPECT_TRUE(at(*made.policy_memory, Tier::hbm).fits());
  EXPECT_TRUE(at(*made.policy_memory, Tier::host).fits());
  run.policy_overrides["dev_mem_gb"] = "60";
  EXPECT_GT(policy_plan(run, to_job(run)).plan.activation_buffers, made.plan.activation_buffers);
  run.policy_overrides["dev_mem_gb"] = "4";  // Embedding and head with their state take 8.4 GB.
  EXPECT_FALSE(at(*policy_plan(run, to_job(run)).policy_memory, Tier::hbm).fits());
}

TEST(StateType, SaysTheBytesOfAParameter) {
  RunConfig run = run_of("");
  run.policy.reset();
  const std::int64_t n = 256 * 1000;
  const auto in_all = [&](StateType state) {
    run.optimizer.state = state;
    const Job job = to_job(run);
    return job.master_bytes(n) + job.moment_bytes(n) * 2 + job.gradient_element() * n;
  };
  EXPECT_EQ(in_all(StateType::fp32), Bytes(16 * n));
  EXPECT_EQ(in_all(StateType::bf16), Bytes(12 * n));
  EXPECT_EQ(in_all(StateType::bf16_weights), Bytes(8 * n));
  // 260 bytes a block of 256, rounded up to 64.
  EXPECT_EQ(in_all(StateType::int8), Bytes(4 * n + 2 * (n + 4 * 1000 + 32) + 4 * n));
}

TEST(StateType, MomentsInBf16TakeFourBytesAParameterLessOnTheHostAndBf16WeightsEight) {
  const std::int64_t parameters = parameter_count(to_job(run_of("zero-infinity")).model);
  const auto saved = [&](StateType state) {
    return static_cast<double>(host_peak(StateType::fp32) - host_peak(state)) /
           static_cast<double>(parameters);
  };
  EXPECT_NEAR(saved(StateType::bf16), 4, 0.05);
  EXPECT_NEAR(saved(StateType::int8), 6 - 2 * 4 / 256.0, 0.05);
  EXPECT_NEAR(saved(StateType::bf16_weights), 8, 0.05);
}

TEST(StateType, OtherThanFp32ChangesTheJobAndBf16WeightsAreNotExecuted) {
  RunConfig run = run_of("");
  run.policy.reset();
  const std::string usual = job_hash(to_job(run));
  for (const StateType state : {StateType::bf16, StateType::int8, StateType::bf16_weights}) {
    run.optimizer.state = state;
    EXPECT_NE(job_hash(to_job(run)), usual);
    EXPECT_EQ(to_job(run).executable(), state != StateType::bf16_weights);
  }
  EXPECT_REFUSED(require_executable(to_job(run)),
                 "optimizer.state is predicted and not executed in this version");
}

TEST(AttentionRate, OfOthersKernelsRisesWithLengthAndWithPriorKeysAndFallsAtSmallHeads) {
  RunConfig run = run_of("");
  run.machine = "h100-sxm";
  const MachineProfile profile = to_machine(run).profile;
  for (const bool backward : {false, true}) {
    const auto rate = [&](std::int64_t length, std::int64_t head_dim, std::int64_t prior = 0) {
      return attention_rate(profile, {.sequences = 1,
                                      .length = length,
                                      .heads = 32,
                                      .kv_heads = 8,
                                      .head_dim = head_dim,
                                      .backward = backward,
                                      .prior = prior,
                                      .library = AttentionLibrary::flash})
          .value;
    };
    EXPECT_GT(rate(2048, 128), 1.05 * rate(1024, 128));
    for (std::int64_t length = 512; length <= 262144; length *= 2) {
      EXPECT_GE(rate(2 * length, 128), rate(length, 128)) << length;
      EXPECT_LE(rate(length, 64), rate(length, 128)) << length;
      EXPECT_GE(rate(length, 128, 4096), rate(length, 128)) << length;
    }
    EXPECT_LT(rate(1024, 64), rate(1024, 128));
  }
}

TEST(AttentionRate, IsBetweenMeasuredPointsOfTheHeadsItIsPaddedTo) {
  MachineProfile profile;
  profile.device = DeviceKind::cuda;
  const auto rate_of = [](double value) {
    FlopRate known;
    known.value = FlopsPerSecond(value);
    known.deviation = FlopsPerSecond(value / 10);
    return known;
  };
  profile.attention_forward = rate_of(1);
  profile.attention_backward = rate_of(1);
  profile.attention_forward_ceiling = profile.attention_backward_ceiling = rate_of(2);
  profile.attention = {{64, 1024, rate_of(100), rate_of(50)},
                       {128, 1024, rate_of(200), rate_of(120)},
                       {128, 4096, rate_of(400), rate_of(200)},
                       {128, 16384, rate_of(500), rate_of(300)}};
  const auto known = [&](std::int64_t length, std::int64_t head_dim, bool backward,
                         std::int64_t prior = 0, std::optional<std::int64_t> window = {}) {
    return attention_rate(profile, {.sequences = 1,
                                    .length = length,
                                    .heads = 32,
                                    .kv_heads = 8,
                                    .head_dim = head_dim,
                                    .backward = backward,
                                    .prior = prior,
                                    .window = window});
  };
  const auto rate = [&](auto... shape) { return known(shape...).value.count(); };
  EXPECT_EQ(rate(4096, 128, false), 400);
  EXPECT_EQ(rate(4096, 128, true), 200);
  EXPECT_NEAR(rate(2048, 128, false), 300, 1e-9);  // Half-way in the logarithm of the length.
  EXPECT_NEAR(rate(8192, 128, true), 250, 1e-9);
  EXPECT_EQ(rate(131072, 128, false), 500);
  EXPECT_EQ(rate(131072, 96, true), 225);   // Padded to 128, of which a quarter is nothing.
  EXPECT_EQ(rate(131072, 32, true), 25);    // Padded to 64.
  EXPECT_EQ(rate(131072, 256, true), 300);  // No size is larger than 128.
  EXPECT_EQ(rate(131072, 64, true), 50);
  EXPECT_EQ(rate(1024, 128, false, 3072), 400);  // The last query sees 4096 keys.
  EXPECT_EQ(rate(131072, 128, false, 0, 4096), 400);
  EXPECT_LT(rate(512, 128, false), 200);
  EXPECT_GT(rate(512, 128, false), 100);
  // Beyond the longest point its rate stays, with a larger deviation for every doubling.
  EXPECT_EQ(known(16384, 128, false).deviation, FlopsPerSecond(50));
  EXPECT_NEAR(known(65536, 128, false).deviation.count(), std::hypot(50, 2 * 0.03 * 500), 1e-9);
  EXPECT_GT(known(262144, 128, false).deviation, known(65536, 128, false).deviation);
}

TEST(AttentionRate, PointsSurviveAFileCountInTheHashAndFollowTheirFact) {
  MachineProfile profile = find_machine("h200");
  profile.attention.clear();
  const std::string without = profile_hash(profile);
  EXPECT_EQ(to_json_text(profile).find("\"attention\""), std::string::npos);
  const FlopRate known = profile.attention_forward;
  profile.attention = {{128, 1024, known, known}, {128, 4096, known, known}};
  EXPECT_NE(profile_hash(profile), without);
  const MachineProfile again = profile_from_json(to_json_text(profile), "here");
  EXPECT_EQ(profile_hash(again), profile_hash(profile));
  MachineProfile slower = profile;
  set_fact(slower, "attention_forward", "0.5x");
  EXPECT_DOUBLE_EQ(slower.attention[1].forward.value / known.value, 0.5);
  EXPECT_EQ(slower.attention[1].backward.value, known.value);
  std::swap(profile.attention[0], profile.attention[1]);
  EXPECT_THROW((void)profile_from_json(to_json_text(profile), "here"), BadRequest);
}

}  // namespace
}  // namespace sluice::planner
