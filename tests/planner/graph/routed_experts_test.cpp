// Tests of passes of few tokens through mixtures of experts: experts that the router leaves idle
// are not loaded.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/graph/forward_graph.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/layout/layout.hpp"
#include "planner/models/shape.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

constexpr std::int64_t kCount = 8, kActive = 2;

/// A job of one sequence in parts of `part` tokens.
Job routed_job(std::int64_t part, ComputeType compute) {
  Job job = test::tiny_job();
  job.model.family = Family::mixtral;
  job.model.names.experts = kMixtralExperts;
  job.model.experts = Experts{.count = kCount, .active = kActive, .intermediate = 24};
  job.model.intermediate = kActive * 24;
  job.batch_size = job.micro_batch = 1;
  job.seq_len = 64;
  job.sequence_chunk = part;
  job.compute = compute;
  return job;
}

StepGraph streamed(const Job& job, ForwardGoal goal = ForwardGoal::next_token) {
  ForwardPlan plan;
  plan.weights.assign(unit_count(job.model), Tier::host);
  return build_forward_graph(job, goal, plan, test::RoundCosts());
}

/// Bytes that a pass's tasks of one kind move in all.
Bytes moved(const StepGraph& graph, TaskKind kind) {
  Bytes sum{0};
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    if (graph.tasks[i].kind == kind) sum += graph.tasks[i].bytes;
  }
  return sum;
}

TEST(ExpectedExperts, AreThoseOfARouterThatFavoursNone) {
  const Experts experts{.count = 128, .active = 8, .intermediate = 768};
  EXPECT_EQ(expected_experts(experts, 1), 8);
  EXPECT_EQ(expected_experts(experts, 2), 16);   // 128 (1 - (15/16)^2) = 15.5
  EXPECT_EQ(expected_experts(experts, 16), 82);  // 128 (1 - (15/16)^16) = 82.4
  EXPECT_EQ(expected_experts(experts, 2048), 128);
}

TEST(ExpertRange, IsWhereTheTensorsLie) {
  for (const Family family : {Family::qwen3_moe, Family::mixtral}) {
    Job job = routed_job(1, ComputeType::bf16);
    job.model.family = family;
    job.model.names.experts = family == Family::mixtral ? kMixtralExperts : ExpertNames{};
    const ExpertNames& names = job.model.names.experts;
    job.model.hidden = 20;  // Padding between matrices.
    const UnitTensors block = unit_tensors(job.model, 2);
    const std::string prefix = "model.layers.1." + std::string(names.experts);
    const ExpertRange range = expert_range(job.model);
    for (std::int64_t expert = 0; expert < kCount; ++expert) {
      const auto gate = std::ranges::find(
          block.tensors,
          prefix + std::to_string(expert) + "." + std::string(names.gate) + ".weight",
          &TensorSpec::name);
      ASSERT_NE(gate, block.tensors.end());
      EXPECT_EQ(gate->offset, range.first + expert * range.stride);
    }
    EXPECT_EQ(block.padded_size, range.first + kCount * range.stride);
  }
}

TEST(RoutedExperts, OfAPassAreLoadedBehindTheirRouterAsFarAsTokensGoToThem) {
  for (const ComputeType compute : {ComputeType::bf16, ComputeType::fp32}) {
    const Job job = routed_job(1, compute);
    const StepGraph graph = streamed(job);
    EXPECT_FALSE(find_layout_fault(graph, graph.layout));
    const Bytes expert = job.weight_element() * expert_range(job.model).stride;
    EXPECT_EQ(moved(graph, TaskKind::load_experts), expert * (kActive * job.model.layers));
    Bytes all{0};
    for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
      all += job.weight_element() * unit_padded_size(job.model, unit);
    }
    EXPECT_EQ(moved(graph, TaskKind::load_weights), all - expert * (kCount * job.model.layers));
    for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
      if (graph.tasks[i].kind != TaskKind::load_experts) continue;
      EXPECT_TRUE(std::ranges::any_of(graph.graph.tasks()[i].after, [&](sim::TaskId before) {
        const StepTask& task = graph.tasks[sim::index(before)];
        return task.kind == TaskKind::route && task.unit == graph.tasks[i].unit;
      }));
    }
  }
}

TEST(RoutedExperts, AreLoadedWholeWhereManyTokensPass) {
  Job job = routed_job(1, ComputeType::bf16);
  job.sequence_chunk.reset();
  const StepGraph graph = streamed(job, ForwardGoal::loss);
  EXPECT_EQ(moved(graph, TaskKind::load_experts), Bytes(0));
}

TEST(RoutedExperts, OfResidentBlocksAreNotLoaded) {
  const Job job = routed_job(4, ComputeType::bf16);
  ForwardPlan plan;
  plan.weights.assign(unit_count(job.model), Tier::hbm);
  const StepGraph graph =
      build_forward_graph(job, ForwardGoal::next_token, plan, test::RoundCosts());
  EXPECT_EQ(moved(graph, TaskKind::load_experts) + moved(graph, TaskKind::load_weights), Bytes(0));
}

}  // namespace
}  // namespace sluice::planner
