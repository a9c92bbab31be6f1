// The blocks that a GPU's probe runs: their sizes, memory and cost keys, and what they teach.
#include "profiler/probe/probed_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "planner/catalogue/catalogue.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/probed_passes.hpp"
#include "planner/costs/sibling_costs.hpp"
#include "planner/graph/record.hpp"
#include "planner/graph/step_builder.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/plans/plan.hpp"

namespace sluice::profiler {
namespace {

using planner::CostKey;
using planner::Job;
using planner::MachineProfile;
using planner::Pass;

std::vector<Job> all_jobs(ProbeDepth depth) { return probed_jobs(depth, 1000_GiB).jobs; }

/// Passes that the probe times of every job, and the units they are over.
std::vector<std::pair<Pass, std::size_t>> passes_of(const Job& job) {
  const std::size_t head = unit_count(job.model) - 1;
  return {{Pass::embed_forward, 0},
          {Pass::block_forward, 1},
          {Pass::block_recompute_input, 1},
          {Pass::block_recompute_selective, 1},
          {Pass::block_backward, 1},
          {Pass::loss, head},
          {Pass::embed_backward, 0},
          {Pass::combine, 0},
          {Pass::norm, 0},
          {Pass::norm, 1},
          {Pass::norm, head}};
}

TEST(ProbedShapes, AreJobsThatAGpuRuns) {
  for (const ProbedShape& shape : probed_shapes()) {
    const std::vector<Job> jobs = jobs_of(shape);
    ASSERT_FALSE(jobs.empty()) << shape.why;
    EXPECT_TRUE(std::ranges::is_sorted(jobs, {}, &Job::seq_len)) << shape.why;
    for (const Job& job : jobs) {
      EXPECT_NO_THROW(validate(job)) << text_of(job);
      EXPECT_TRUE(job.executable());
      EXPECT_EQ(job.micro_tokens(), shape.tokens) << "lengths divide the micro-batch";
      EXPECT_FALSE(job.chunks_mlp());
      for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
        const planner::UnitTensors tensors = unit_tensors(job.model, unit);
        EXPECT_EQ(tensors.parameters(), tensors.padded_size) << "the cuda backend needs it";
      }
    }
  }
}

TEST(ProbedShapes, CoverTheSizesThatTheIssueOfPredictionsNames) {
  const std::vector<Job> quick = all_jobs(ProbeDepth::quick);
  const auto of = [](const std::vector<Job>& jobs, auto size) {
    std::set<std::int64_t> sizes;
    for (const Job& job : jobs) sizes.insert(size(job));
    return sizes;
  };
  const auto heads = of(quick, [](const Job& job) { return job.model.head_dim; });
  EXPECT_TRUE(heads.contains(64) && heads.contains(80) && heads.contains(128));
  const auto lengths = of(quick, [](const Job& job) { return job.seq_len; });
  EXPECT_TRUE(lengths.contains(512) && lengths.contains(1024) && lengths.contains(8192) &&
              lengths.contains(16384));
  const auto widths = of(quick, [](const Job& job) { return job.model.hidden; });
  EXPECT_LE(*widths.begin(), 896);
  EXPECT_GE(*widths.rbegin(), 4096);
  EXPECT_LE(quick.size(), 12u) << "a quick probe takes a minute";
  EXPECT_GT(all_jobs(ProbeDepth::full).size(), 18u);
}

TEST(ProbedShapes, FitCardsOf24GiBAndSmallerOnesLeaveOutTheLargest) {
  constexpr Bytes kLibrariesAndProducts = 5_GiB;
  const ProbedJobs usual = probed_jobs(ProbeDepth::quick, 24_GiB - kLibrariesAndProducts);
  for (const Job& job : usual.too_large) {
    ADD_FAILURE() << text_of(job) << " needs " << probed_memory(job).total.count();
  }
  const ProbedJobs small = probed_jobs(ProbeDepth::quick, 6_GiB);
  EXPECT_FALSE(small.jobs.empty());
  EXPECT_FALSE(small.too_large.empty());
  EXPECT_EQ(small.jobs.size() + small.too_large.size(), usual.jobs.size());
  EXPECT_TRUE(probed_jobs(ProbeDepth::full, Bytes(1000)).jobs.empty());
}

TEST(ProbedMemoryOfAJob, HoldsWeightsGradientsRecordsAndScratchApart) {
  const Job job = all_jobs(ProbeDepth::quick).front();
  const ProbedMemory memory = probed_memory(job);
  const Bytes block(2 * planner::unit_padded_size(job.model, 1));
  EXPECT_GE(memory.gradients[1] - memory.weights[1], block);
  EXPECT_GE(memory.weights[2] - memory.gradients[1], block * 2);
  EXPECT_GE(memory.records[1] - memory.records[0], planner::block_record(job).all_bytes);
  EXPECT_GE(memory.tokens - memory.workspace,
            planner::workspace_bytes(job, planner::DeviceKind::cuda));
  EXPECT_GT(memory.total, memory.sums);
}

TEST(ProbedPassesOfBlocks, HaveTheKeysOfARealModelsSteps) {
  // The probe's narrowest shape is that of qwen2.5-0.5b, whose runs calibrate the keys of the tasks
  // of their step graphs.
  Job job;
  job.model = planner::find_model("qwen2.5-0.5b");
  job.seq_len = 1024;
  job.micro_batch = 4;
  job.batch_size = 16;
  const std::vector<Job> jobs = all_jobs(ProbeDepth::quick);
  const auto found = std::ranges::find_if(jobs, [&](const Job& each) {
    return each.model.hidden == job.model.hidden && each.seq_len == job.seq_len;
  });
  ASSERT_NE(found, jobs.end());
  const Job& same = *found;
  std::set<std::string> keys;
  for (const auto& [pass, unit] : passes_of(same)) {
    keys.insert(compute_key(same, pass, unit).name());
  }
  const std::int64_t block = planner::unit_padded_size(same.model, 1);
  keys.insert(device_update_key(same, block).name());
  std::set<std::string> computed;
  for (const planner::Keep keep : {planner::Keep::input, planner::Keep::selective}) {
    planner::Plan plan = planner::uniform_plan(job, {.keep = keep}, 1);
    const planner::ProfileCostModel costs(planner::find_machine("h100-sxm"), {});
    const planner::StepGraph graph = planner::build_step_graph(job, plan, costs);
    for (const planner::StepTask& task : graph.tasks) {
      const bool passes = task.lane == planner::LaneKind::compute;
      if (passes && task.kind != planner::TaskKind::grads) computed.insert(task.cost.name());
    }
  }
  EXPECT_GT(computed.size(), 10u);
  for (const std::string& key : computed) {
    if (key.starts_with("update/device/"))
      continue;  // Units of other sizes have keys of their own.
    EXPECT_TRUE(keys.contains(key)) << key;
  }
}

/// The profile of a GPU whose kernels are not as its probe's rates say: products of narrow models
/// are slower, attention is much slower, and element-wise kernels are quicker.
MachineProfile truth_of(MachineProfile profile) {
  for (std::size_t i = 0; i < profile.gemm.size(); ++i) {
    FlopsPerSecond& rate = profile.gemm[i].rate.value;
    rate = rate * (i + 1 == profile.gemm.size() ? 0.9 : 0.8);
  }
  profile.attention.clear();
  profile.attention_forward.value = 0.7 * profile.attention_forward.value;
  profile.attention_backward.value = 0.6 * profile.attention_backward.value;
  scale_by(profile.hbm_bandwidth, 1.2);
  return profile;
}

TEST(ProbedPassesOfBlocks, PredictOtherShapesOfTheSameMachine) {
  MachineProfile profile = planner::find_machine("h100-sxm");
  profile.passes.clear();  // Those of the catalogue are another machine's.
  const planner::ProfileCostModel truth(truth_of(profile), {});
  const auto true_time = [&](const Job& job, Pass pass, std::size_t unit) {
    return truth.compute(compute_key(job, pass, unit), work_of(job, pass, unit)).amount.count();
  };
  for (const Job& job : all_jobs(ProbeDepth::quick)) {
    for (const auto& [pass, unit] : passes_of(job)) {
      profile.passes.push_back({.key = compute_key(job, pass, unit).name(),
                                .time = Seconds(true_time(job, pass, unit))});
    }
  }
  double worst = 0, sum = 0, bare_sum = 0;
  int count = 0;
  const planner::ProfileCostModel bare(profile, {});
  for (const auto& [model, length, micro] :
       {std::tuple{"qwen2.5-1.5b", 1024, 8}, std::tuple{"qwen2.5-1.5b", 8192, 1},
        std::tuple{"qwen2.5-3b", 2048, 4}, std::tuple{"qwen2.5-7b", 2048, 2},
        std::tuple{"qwen2.5-0.5b", 8192, 1}, std::tuple{"llama-3.1-8b", 4096, 2}}) {
    Job job;
    job.model = planner::find_model(model);
    job.seq_len = length;
    job.micro_batch = job.batch_size = micro;
    const planner::ProfileCostModel costs(profile, with_siblings(job, profile, {}));
    for (const Pass pass : {Pass::block_forward, Pass::block_backward}) {
      const CostKey key = compute_key(job, pass, 1);
      const double is = true_time(job, pass, 1);
      const double error =
          std::abs(std::log(costs.compute(key, work_of(job, pass, 1)).amount.count() / is));
      sum += error;
      bare_sum += std::abs(std::log(bare.compute(key, work_of(job, pass, 1)).amount.count() / is));
      worst = std::max(worst, error);
      ++count;
    }
  }
  EXPECT_GT(bare_sum / count, 0.1) << "the profile alone is far off";
  EXPECT_LT(sum / count, 0.02);
  EXPECT_LT(worst, 0.08);
}

}  // namespace
}  // namespace sluice::profiler
