#include "planner/runs/run_config.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "planner/policies/run_job.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/runs/run_machine.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kRun = R"(model: bytes-2m
data: text.txt
seq_len: 128
batch_size: 8
micro_batch: 2
optimizer:
  lr: 3e-4
  betas: [0.9, 0.95]
  clip: off
schedule: {kind: cosine, warmup_steps: 10, final_fraction: 0.1}
limits:
  hbm: 24 MiB
set:
  machine.h2d: 0.5x
  plan.weight_buffers: 3
)";

TEST(RunYaml, FillsTheConfigAndLeavesDefaults) {
  const RunConfig run = run_from_yaml(kRun, "RUN.yaml");
  EXPECT_EQ(run.model, "bytes-2m");
  EXPECT_EQ(run.micro_batch, 2);
  EXPECT_DOUBLE_EQ(run.optimizer.lr, 3e-4);
  EXPECT_DOUBLE_EQ(run.optimizer.beta2, 0.95);
  EXPECT_EQ(run.optimizer.clip, std::nullopt);
  EXPECT_EQ(run.schedule.kind, Schedule::Kind::cosine);
  EXPECT_EQ(run.limits.hbm, 24_MiB);
  EXPECT_EQ(run.loss_chunk, 1024);
  EXPECT_EQ(run.machine, "here");
  EXPECT_EQ(run.machine_overrides.at("h2d"), "0.5x");
  EXPECT_EQ(run.plan_overrides.at("weight_buffers"), "3");
}

TEST(RunYaml, StatesGroupsOfMicroBatchesOnlyWhereThereAreSeveral) {
  RunConfig run = run_from_yaml(kRun, "RUN.yaml");
  EXPECT_FALSE(run.groups.has_value());
  EXPECT_EQ(to_yaml(run).find("groups"), std::string::npos);
  EXPECT_EQ(to_yaml(run).find("devices"), std::string::npos);
  EXPECT_EQ(to_job(run).groups, 1);
  set_path(run, "groups", "3");
  const RunConfig read = run_from_yaml(to_yaml(run), "run.yaml");
  EXPECT_EQ(read.groups, 3);
  EXPECT_EQ(to_job(read).groups, 3);
  EXPECT_REFUSED(set_path(run, "groups", "0"), "groups: ");
  set_path(run, "devices", "2");
  EXPECT_EQ(run_from_yaml(to_yaml(run), "run.yaml").devices, 2);
  set_path(run, "groups", "auto");
  EXPECT_EQ(to_job(run).groups, 2);
  set_path(run, "devices", "8");
  EXPECT_REFUSED((void)to_job(run), "devices: 8 need as many micro-batches, and a step has 4");
  set_path(run, "devices", "1");
  set_path(run, "groups", "5");
  EXPECT_REFUSED((void)to_job(run), "groups: 5 must be between 1 and the step's 4 micro-batches");
}

TEST(RunYaml, ReadsBackWhatItWrites) {
  RunConfig run = run_from_yaml(kRun, "RUN.yaml");
  set_path(run, "plan.layers[2].keep", "all");
  set_path(run, "threads", "2");
  set_path(run, "backend", "host");
  const std::string text = to_yaml(run);
  EXPECT_EQ(to_yaml(run_from_yaml(text, "run.yaml")), text);
  EXPECT_EQ(run_from_yaml(text, "run.yaml").plan_overrides, run.plan_overrides);
}

TEST(RunYaml, TurnsTermsOfTheModelOfTimeOff) {
  const RunConfig run =
      run_from_yaml("set: {term.contention: off, term.boost: false, term.latency: on}", "RUN.yaml");
  EXPECT_EQ(terms_off(run.terms), (std::vector<std::string>{"contention", "boost"}));
  EXPECT_EQ(run_from_yaml(to_yaml(run), "run.yaml").terms, run.terms);
  EXPECT_EQ(to_yaml(run_from_yaml("set: {term.latency: on}", "RUN.yaml")), to_yaml(RunConfig{}));
  EXPECT_REFUSED(run_from_yaml("set: {term.contenton: off}", "RUN.yaml"),
                 "line 1: term.contenton: unknown term; did you mean \"contention\"");
  EXPECT_REFUSED(run_from_yaml("set: {term.boost: 0.5}", "RUN.yaml"),
                 "term.boost: \"0.5\" must be on or off");
}

TEST(RunYaml, BalancesExpertsWhereAsked) {
  const std::string sizes = "seq_len: 8\nbatch_size: 2\n";
  const auto read = [&](const std::string& text) {
    return run_from_yaml(sizes + text, "RUN.yaml");
  };
  const RunConfig run = read("model: mixtral-8x7b\nrouter_aux_loss_coef: 0.02\n");
  EXPECT_EQ(to_job(run).router_aux_loss_coef, 0.02);
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(run), "run.yaml")), to_yaml(run));
  EXPECT_EQ(read("moe_aux_loss_coef: 0.02\n").router_aux_loss_coef, 0.02) << "LLaMA-Factory's name";
  const RunConfig plain = read("model: mixtral-8x7b\nrouter_aux_loss_coef: off\n");
  EXPECT_EQ(to_job(plain).router_aux_loss_coef, std::nullopt) << "whatever config.json says";
  EXPECT_NE(job_hash(to_job(run)), job_hash(to_job(plain)));
  EXPECT_REFUSED(read("router_aux_loss_coef: -1\n"), "router_aux_loss_coef");
  EXPECT_REFUSED((void)to_job(read("model: bytes-2m\nrouter_aux_loss_coef: 0.02\n")),
                 "this model has no experts to balance");
}

TEST(RunYaml, SaysWhatTheDataAreAndHowDocumentsBecomeSequences) {
  const RunConfig run = run_from_yaml(
      "model: bytes-2m\nseq_len: 8\nbatch_size: 2\ndata: mine\ndataset_dir: sets\n"
      "data_format: sharegpt\ntemplate: qwen3\npacking: documents\n",
      "RUN.yaml");
  EXPECT_EQ(run.dataset_dir, "sets");
  EXPECT_EQ(run.data_format, DataFormat::sharegpt);
  EXPECT_EQ(run.chat_template, "qwen3");
  EXPECT_EQ(run.packing, Packing::documents);
  EXPECT_EQ(to_yaml(run_from_yaml(to_yaml(run), "run.yaml")), to_yaml(run));
  // Attention inside documents changes bits; how else sequences are made changes only the data.
  RunConfig other = run;
  other.packing = Packing::off;
  set_path(other, "packing", "false");
  EXPECT_EQ(other.packing, Packing::off);
  EXPECT_EQ(to_job(run).attention, AttentionSpan::document);
  EXPECT_EQ(to_job(other).attention, AttentionSpan::sequence);
  EXPECT_NE(job_hash(to_job(run)), job_hash(to_job(other)));
  EXPECT_REFUSED(run_from_yaml("packing: document\n", "RUN.yaml"),
                 "line 1: packing: \"document\" is not one of auto, stream, documents, off");
}

TEST(RunYaml, RefusesNamingTheLineAndTheNearestKey) {
  const auto read = [](const std::string& text) { return run_from_yaml(text, "RUN.yaml"); };
  EXPECT_REFUSED(read("model: m\nbatchsize: 8\n"),
                 "RUN.yaml: line 2: batchsize: unknown key; did you mean \"batch_size\"");
  EXPECT_REFUSED(read("model: m\nlimits:\n  hbm: 24\n"),
                 "line 3: limits.hbm: \"24\" has no unit: write for example \"24 GiB\"");
  EXPECT_REFUSED(read("limits: {hbm: -1 GiB}\n"), "must not be negative");
  EXPECT_REFUSED(read("model: m\nseq_len: [1\nx: 2"), "RUN.yaml: line ");
  EXPECT_REFUSED(read("model: m\nmodel: n\n"), "line 2: model is given twice");
  EXPECT_REFUSED(read("- a\n"), "must hold `key: value` lines");
  EXPECT_REFUSED(read("steps: -5\n"), "steps: \"-5\" must not be negative");
  EXPECT_REFUSED(read("seq_len:\n"), "seq_len: \"null\" is not a whole number");
  EXPECT_REFUSED(read("compute: fp16\n"), "compute: \"fp16\" is not one of fp32, bf16");
  EXPECT_REFUSED(read("optimiser: {lr: 1}\n"), "did you mean \"optimizer");
  EXPECT_REFUSED(read("set: {machine.h2dd: 1 GB/s}\n"), "did you mean \"h2d\"");
  EXPECT_REFUSED(read("optimizer: 3\n"), "optimizer: must be a map");
  for (const std::string value : {"5", "-1.5", "true", "no", "[a]", "{a: b}"}) {
    EXPECT_REFUSED(read("model: m\ntemplate: " + value + "\n"), "line 2: template: ");
  }
  EXPECT_EQ(read("template: null\n").chat_template, std::nullopt);
  EXPECT_EQ(read("template: 2024.jinja\n").chat_template, "2024.jinja");
}

TEST(RunArguments, FlagsAndOverridesComeAfterTheFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "sluice_run_test.yaml";
  std::ofstream(path) << kRun;
  const RunArguments run =
      parse_run({"--seq-len", "64", path.string(), "optimizer.lr=1e-3", "--hbm=1 GiB", "--set",
                 "machine.h2d=12 GB/s", "--json", "-o", "plan.json"},
                {{"--json"}, {"-o", VerbFlag::Takes::value}});
  std::filesystem::remove(path);
  EXPECT_EQ(run.config.seq_len, 64);
  EXPECT_EQ(run.config.batch_size, 8);
  EXPECT_DOUBLE_EQ(run.config.optimizer.lr, 1e-3);
  EXPECT_EQ(run.config.limits.hbm, 1_GiB);
  EXPECT_EQ(run.config.machine_overrides.at("h2d"), "12 GB/s");
  EXPECT_TRUE(run.has("--json"));
  EXPECT_EQ(run.value("-o"), "plan.json");
  EXPECT_EQ(run.value("--graph-out"), std::nullopt);
}

TEST(RunArguments, RefuseWhatNobodyKnows) {
  const auto parse = [](std::vector<std::string> words) { return parse_run(words, {{"--json"}}); };
  EXPECT_REFUSED(parse({"--seqlen", "3"}), "--seqlen: unknown flag; did you mean \"--seq-len\"");
  EXPECT_REFUSED(parse({"--model"}), "--model: a value is missing");
  EXPECT_REFUSED(parse({"--model", "--json"}), "--model: a value is missing");
  EXPECT_REFUSED(parse({"a.yaml", "b.yaml"}), "one RUN.yaml is given already");
  EXPECT_REFUSED(parse({"missing.yaml"}), "missing.yaml");
  EXPECT_REFUSED(parse({"--hbm", "24"}), "limits.hbm: \"24\" has no unit");
  EXPECT_REFUSED(parse({"--set", "machine.h2d"}), "must be PATH=VALUE");
  EXPECT_REFUSED(parse({"lr=3"}), "lr: unknown key");
}

TEST(Run, AJobNeedsItsSizes) {
  RunConfig run;
  EXPECT_REFUSED(to_job(run), "model is missing");
  run.model = "bytes-2m";
  EXPECT_REFUSED(to_job(run), "seq_len is missing: give --seq-len N");
  run.seq_len = 64;
  run.batch_size = 4;
  EXPECT_EQ(to_job(run).micro_batches(), 4);
}

TEST(Run, OverridesChangeTheProfileButNotItsCalibration) {
  RunConfig run;
  run.machine = "h200";
  const ResolvedMachine plain = to_machine(run);
  set_path(run, "machine.h2d", "0.5x");
  set_path(run, "limits.hbm", "24 GiB");
  const ResolvedMachine slower = to_machine(run);
  EXPECT_EQ(slower.profile.h2d.value, plain.profile.h2d.value / 2);
  EXPECT_NE(profile_hash(slower.profile), profile_hash(plain.profile));
  EXPECT_EQ(slower.calibration_hash, profile_hash(plain.profile));
  EXPECT_EQ(slower.hbm, 24_GiB);
  EXPECT_EQ(slower.host, 128_GiB);
  run.backend = DeviceKind::host;
  EXPECT_REFUSED(to_machine(run), "machine h200 is for backend cuda");
}

TEST(Run, LittlePinnedMemoryIsPlannedAtTheRatesOfARing) {
  RunConfig run;
  run.machine = "h200";
  set_path(run, "limits.host", "100 GiB");
  set_path(run, "limits.pinned", "100 GiB");
  const ResolvedMachine whole = to_machine(run);
  EXPECT_FALSE(whole.staged);
  set_path(run, "limits.pinned", "8 GiB");
  const ResolvedMachine staged = to_machine(run);
  EXPECT_TRUE(staged.staged);
  EXPECT_LT(staged.profile.h2d.value, whole.profile.h2d.value);
  EXPECT_LT(staged.profile.d2h_duplex.value, whole.profile.d2h_duplex.value);
  EXPECT_GT(staged.profile.h2d_dram.value, whole.profile.h2d_dram.value);
  EXPECT_EQ(staged.calibration_hash, whole.calibration_hash);
  set_path(run, "machine.staged_copy", "5 GB/s");
  EXPECT_EQ(to_machine(run).profile.h2d.value, BytesPerSecond(5e9));
}

TEST(Run, LimitedLinkHoldsCopiesAndTheirInterference) {
  RunConfig run;
  run.machine = "h200";
  const ResolvedMachine whole = to_machine(run);
  EXPECT_FALSE(whole.paced);
  set_path(run, "limits.link", "100 GB/s");
  EXPECT_EQ(profile_hash(to_machine(run).profile), profile_hash(whole.profile));
  set_path(run, "limits.link", "12 GB/s");
  const ResolvedMachine held = to_machine(run);
  ASSERT_TRUE(held.paced);
  EXPECT_DOUBLE_EQ(held.paced->count(), 12e9);
  const Bandwidth& link = whole.profile.h2d;
  EXPECT_GT(link.deviation, BytesPerSecond(0));
  EXPECT_DOUBLE_EQ(held.profile.h2d.deviation.count() / 12e9, link.deviation / link.value);
  EXPECT_EQ(held.profile.h2d.value, BytesPerSecond(12e9));
  EXPECT_EQ(held.profile.d2h_duplex.value, BytesPerSecond(12e9));
  EXPECT_EQ(held.calibration_hash, whole.calibration_hash);
  const auto beside = [](const ResolvedMachine& machine, LaneKind on) {
    for (const auto& pair : machine.profile.interference) {
      if (pair.on == on && pair.from == LaneKind::h2d) return pair.factor.value;
    }
    return 1.0;
  };
  EXPECT_NEAR(1 - beside(held, LaneKind::compute),
              (1 - beside(whole, LaneKind::compute)) * 12e9 / whole.profile.h2d.value.count(),
              1e-12);
  EXPECT_REFUSED(set_path(run, "limits.link", "0 GB/s"), "limits.link: must be more than 0");
  EXPECT_REFUSED(set_path(run, "limits.link", "12 GB"), "limits.link");
}

TEST(RunConfig, GradientAccumulationMakesTheBatch) {
  RunConfig run;
  set_path(run, "micro_batch", "4");
  set_path(run, "gradient_accumulation", "8");
  settle(run);
  EXPECT_EQ(run.batch_size, 32);
  set_path(run, "gradient_accumulation", "4");
  EXPECT_REFUSED(settle(run), "gradient_accumulation: 4 x micro_batch 4 is not batch_size (32)");
}

}  // namespace
}  // namespace sluice::planner
