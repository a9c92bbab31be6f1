// Tests of one sequence of 128 K and of 512 K tokens: sizes beyond 2^31 and 2^32, what fits, and
// what is offered where it does not fit.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/catalogue/catalogue.hpp"
#include "planner/effort/search_settings.hpp"
#include "planner/graph/record.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/layout/memory.hpp"
#include "planner/policies/run_job.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"
#include "planner/runs/run_machine.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "planner/search/remedies.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kHalfMillion = 524288;

Job job_of_length(std::int64_t length) {
  Job job;
  job.model = find_model("qwen2.5-7b");
  job.seq_len = length;
  job.batch_size = 1;
  return job;
}

ResolvedMachine large_host() {
  RunConfig config;
  config.machine = "h200";
  config.limits.host = Bytes(std::int64_t{500} << 30);
  return to_machine(config);
}

/// A plan that streams everything, with state on the host, where what attention needs again is kept
/// too.
Plan streamed_plan(const Job& job) {
  return uniform_plan(job, {.keep = Keep::selective, .keep_tier = Tier::host}, 1);
}

TEST(LongSequences, RecordsAndScratchOfHalfAMillionTokensAreExact) {
  const Job job = job_of_length(kHalfMillion);
  ASSERT_TRUE(job.chunks_mlp());
  const BlockRecord record = block_record(job);
  // bf16: x 3584 wide, q k v 36 heads of 128, attention 28 of them, fp32 sums of 28 heads, and the
  // stream after attention.
  EXPECT_EQ(record.all_bytes,
            Bytes(kHalfMillion * (2 * (3584 + 36 * 128 + 28 * 128 + 3584) + 4 * 28)));
  EXPECT_EQ(record.input_bytes, Bytes(3'758'096'384));  // Beyond 2^31.
  const CudaWorkspace space = cuda_workspace(job);
  EXPECT_EQ(space.activation - space.gate_up, Bytes(std::int64_t{65536} * 2 * 18944 * 2));
  EXPECT_EQ(space.d_qkv - space.rotated, Bytes(kHalfMillion * 36 * 128 * 2));  // Beyond 2^32.
  EXPECT_EQ(space.d_normed - space.normed, record.input_bytes);
  // Computed at once, gate, up, their gradients and the activation alone would take 99 GB.
  Job whole = job;
  whole.mlp_chunk = kHalfMillion;
  EXPECT_GT(cuda_workspace(whole).total - space.total, Bytes(30'000'000'000));
  EXPECT_EQ(block_record(whole).all_bytes - record.all_bytes, Bytes(kHalfMillion * 2 * 18944 * 2));
}

TEST(LongSequences, A7BModelFits80GBInChunksAndOnlyInChunks) {
  for (const std::int64_t length : {std::int64_t{131072}, kHalfMillion}) {
    const Job job = job_of_length(length);
    const Prediction fits = predict(job, streamed_plan(job), large_host(), {});
    EXPECT_TRUE(fits.fits) << length;
    EXPECT_LT(at(fits.memory, Tier::hbm).peak, Bytes(80'000'000'000)) << length;
    EXPECT_GE(to_seconds(fits.step), fits.bound.time) << length;
  }
  Job whole = job_of_length(kHalfMillion);
  whole.mlp_chunk = kHalfMillion;
  const Prediction large = predict(whole, streamed_plan(whole), large_host(), {});
  EXPECT_GT(at(large.memory, Tier::hbm).peak, Bytes(120'000'000'000));
}

// cos and sin of 64 frequencies at every position, 4 bytes each, beside the arena.
TEST(LongSequences, TheirRopeTablesCountOnAGpu) {
  const Job job = job_of_length(kHalfMillion);
  const Bytes tables(kHalfMillion * 2 * 64 * 4);
  const Predictor predictor(job, large_host(), {});
  const StepGraph graph = build_step_graph(job, streamed_plan(job), predictor.costs());
  const Memory memory = memory_of(graph, large_host());
  const TierMemory& hbm = at(memory, Tier::hbm);
  EXPECT_EQ(hbm.peak, graph.layout.device_bytes + context_bytes(large_host().profile) + tables +
                          page_table_bytes(large_host(), graph.layout.host_bytes));
  EXPECT_EQ(
      std::ranges::find(hbm.parts, "rope tables", &std::pair<std::string, Bytes>::first)->second,
      tables);
  Bytes sum{0};
  for (const auto& [part, bytes] : hbm.parts) sum += bytes;
  EXPECT_EQ(sum, hbm.peak);
  const ResolvedMachine host = test::round_machine(DeviceKind::host);
  EXPECT_EQ(outside_arena_bytes(job, host.profile), Bytes(0));
}

// Page table entries of 8 bytes for each page of the host's arena.
TEST(DeviceMemory, MapsThePinnedHostArena) {
  ResolvedMachine machine = test::round_machine(DeviceKind::cuda);
  EXPECT_EQ(page_table_bytes(machine, Bytes(512ll << 30)), Bytes(1ll << 30));
  const Job job = test::tiny_job();
  UnitPlan unit;
  const auto tables = [&](Tier state) {
    unit.state = unit.weights = unit.gradients = state;
    unit.executor = state == Tier::hbm ? Executor::gpu : Executor::cpu;
    unit.when = state == Tier::hbm ? When::after : When::forward;
    const Predictor predictor(job, machine, {});
    const Memory memory = predictor.predict(uniform_plan(job, unit, 1)).prediction.memory;
    const auto part = std::ranges::find(at(memory, Tier::hbm).parts, "page tables",
                                        &std::pair<std::string, Bytes>::first);
    const Bytes arena = at(memory, Tier::host).peak - process_bytes(DeviceKind::cuda);
    EXPECT_NEAR(static_cast<double>(part->second.count()),
                static_cast<double>(page_table_bytes(machine, arena).count()), 1);
    return part->second;
  };
  EXPECT_GT(tables(Tier::host), 10 * tables(Tier::hbm));
  machine.staged = true;  // Nothing but a ring is pinned.
  EXPECT_EQ(tables(Tier::host), Bytes(0));
  EXPECT_EQ(page_table_bytes(test::round_machine(DeviceKind::host), Bytes(512ll << 30)), Bytes(0));
}

TEST(LongSequences, ChunksAreAnotherJobOnlyWhereThereAreSeveral) {
  Job job = test::tiny_job();
  const std::string hash = job_hash(job);
  job.mlp_chunk = job.micro_tokens();
  EXPECT_EQ(job_hash(job), hash);
  job.mlp_chunk = job.micro_tokens() - 1;
  EXPECT_NE(job_hash(job), hash);
  job.mlp_chunk = 0;
  EXPECT_REFUSED(validate(job), "mlp_chunk: 0 must be between 1 and");
}

TEST(LongSequences, RunsStateTheChunk) {
  RunConfig run = run_from_yaml("model: bytes-2m\nseq_len: 64\nbatch_size: 1\n", "RUN.yaml");
  EXPECT_EQ(to_job(run).mlp_chunk, kMlpChunk);
  set_path(run, "job.mlp_chunk", "48");
  EXPECT_EQ(to_job(run_from_yaml(to_yaml(run), "run.yaml")).mlp_chunk, 48);
  EXPECT_REFUSED(set_path(run, "mlp_chunk", "0"), "mlp_chunk");
}

TEST(LongSequences, AShorterChunkIsOfferedWhereOneSequenceDoesNotFit) {
  Job job = test::tiny_job();
  job.model.intermediate = 1024;
  job.seq_len = 8192;
  job.batch_size = 1;
  job.loss_chunk = 16;
  ResolvedMachine machine = test::round_machine();
  Plan lean = uniform_plan(job, {.keep = Keep::input, .keep_tier = Tier::host}, 1);
  machine.hbm = at(predict(job, lean, machine, {}).memory, Tier::hbm).peak * 3 / 4;
  SearchSettings quick;
  quick.effort = kQuickEffort;
  quick.threads = 1;
  const auto found = search_or_remedy(Predictor(job, machine, {}), {}, quick);
  const auto* infeasible = std::get_if<Infeasible>(&found);
  ASSERT_NE(infeasible, nullptr);
  ASSERT_FALSE(infeasible->remedies.empty());
  const Remedy& first = infeasible->remedies.front();
  EXPECT_EQ(first.setting, "mlp_chunk=4096") << first.what;
  EXPECT_TRUE(first.changes_bits);
}

}  // namespace
}  // namespace sluice::planner
