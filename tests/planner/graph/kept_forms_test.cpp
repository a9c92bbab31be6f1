#include "planner/graph/kept_forms.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "planner/layout/laid_out.hpp"
#include "planner/layout/memory.hpp"
#include "planner/layout/memory_range.hpp"
#include "planner/plans/plan_words.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/relaxation/plan_relaxation.hpp"
#include "planner/scratch/cuda_workspace.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

/// A machine of round numbers whose GPU has block-scaled FP8 products.
ResolvedMachine fp8_machine(DeviceKind device = DeviceKind::cuda) {
  ResolvedMachine machine = test::round_machine(device);
  machine.profile.architecture = "sm_90";
  return machine;
}

/// Five blocks, of which the middle three compute in FP8, and four micro-batches.
Job fp8_job() {
  Job job = test::tiny_job();
  job.compute = ComputeType::fp8;
  job.model.layers = 5;
  job.model.hidden = job.model.intermediate = 256;
  job.model.heads = job.model.kv_heads = 4;
  job.model.head_dim = 64;
  job.seq_len = 128;
  job.micro_batch = 1;
  job.batch_size = 4;
  return job;
}

Plan with_weights(const Job& job, Tier weights, std::int64_t rounds) {
  return uniform_plan(job, {.weights = weights}, rounds);
}

std::size_t kept(const StepGraph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.tensors, [](const StepTensor& tensor) { return tensor.name.starts_with("fp8/"); }));
}

TEST(KeptForms, AreOfResidentBlocksInSeveralRoundsOnAGpu) {
  const Job job = fp8_job();
  for (const DeviceKind device : {DeviceKind::cuda, DeviceKind::host}) {
    const Predictor predictor(job, fp8_machine(device), {});
    const auto of = [&](Tier weights, std::int64_t rounds) {
      return kept(build_step_graph(job, with_weights(job, weights, rounds), predictor.costs()));
    };
    EXPECT_EQ(of(Tier::hbm, 2), device == DeviceKind::cuda ? 3U : 0U);
    EXPECT_EQ(of(Tier::hbm, 1), 0U);
    EXPECT_EQ(of(Tier::host, 2), 0U);
  }
}

TEST(KeptForms, AreWrittenInTheFirstRoundAndReadInLaterOnes) {
  const Job job = fp8_job();
  const Predictor predictor(job, fp8_machine(), {});
  const StepGraph graph = build_step_graph(job, with_weights(job, Tier::hbm, 2), predictor.costs());
  std::size_t written = 0, read = 0;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const StepTask& task = graph.tasks[i];
    for (const Access& access : task.accesses) {
      if (access.role != Role::fp8_forms) continue;
      EXPECT_EQ(access.bytes, fp8_weight_bytes(job));
      EXPECT_EQ(access.mode != Mode::read, task.round == 0) << graph.graph.tasks()[i].id;
      ++(access.mode == Mode::read ? read : written);
    }
  }
  // Two micro-batches of a round in three blocks pass forward, are recomputed and pass backward.
  EXPECT_EQ(written, 2U * 3 * 3);
  EXPECT_EQ(read, 2U * 3 * 3);
}

TEST(KeptForms, CountInMemoryAndItsBounds) {
  const Job job = fp8_job();
  ResolvedMachine machine = fp8_machine();
  machine.hbm = machine.hbm * 8;
  const Predictor predictor(job, machine, {});
  const MemoryRanges ranges(predictor.job(), predictor.machine());
  const Bytes workspace = workspace_bytes(job, DeviceKind::cuda);
  const auto peak = [&](const Plan& plan) {
    const StepGraph graph = build_step_graph(job, plan, predictor.costs());
    return at(memory_of(graph, predictor.machine()), Tier::hbm).peak;
  };
  Plan two = with_weights(job, Tier::hbm, 2), streamed = two;
  for (std::size_t unit = 2; unit <= 4; ++unit) streamed.units[unit].weights = Tier::host;
  EXPECT_GT(peak(two) - peak(streamed), fp8_weight_bytes(job));
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Plan plan = random_plan(job, seed);
    EXPECT_LE(ranges.of(plan).hbm_at_least, peak(plan) + workspace) << seed;
  }
}

/// On a machine with just the memory of a plan the program's memory rows allow that plan, and its
/// bound is not above the plan's step.
TEST(KeptForms, FitTheRelaxationWhereTheyFitTheLayout) {
  const Job job = fp8_job();
  ResolvedMachine machine = fp8_machine();
  machine.hbm = machine.hbm * 8;
  machine.host = machine.host * 8;
  const Predictor roomy(job, machine, {});
  std::vector<Plan> plans;
  for (const std::int64_t rounds : {1, 2, 4}) {
    plans.push_back(with_weights(job, Tier::hbm, rounds));
    plans.push_back(plans.back());
    plans.back().units[2].weights = Tier::host;  // All others keep theirs.
  }
  for (std::uint64_t seed = 0; seed < 60; ++seed) plans.push_back(random_plan(job, seed));
  int checked = 0;
  for (const Plan& plan : plans) {
    const PlanScore score = roomy.score(plan);
    if (score.step.count() == 0) continue;
    ResolvedMachine tight = machine;
    tight.hbm = score.hbm;
    tight.host = score.host;
    const Predictor predictor(job, tight, {});
    const PlanRelaxation relaxation(predictor, {});
    const auto exceeded = relaxation.exceeded(plan);
    EXPECT_FALSE(exceeded.has_value())
        << describe_plan(plan) << (exceeded ? to_string(*exceeded) : "");
    RelaxedNode node;
    node.rounds = plan.rounds;
    node.proves = true;
    const RelaxedPlan relaxed = relaxation.solve(node);
    EXPECT_TRUE(relaxed.feasible) << describe_plan(plan);
    EXPECT_LE(relaxed.bound.count(), to_seconds(score.step).count() * (1 + 1e-9))
        << describe_plan(plan);
    ++checked;
  }
  EXPECT_GT(checked, 30);
}

}  // namespace
}  // namespace sluice::planner
