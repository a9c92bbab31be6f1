// Tests of jobs whose layers are of several kinds: each kind has its own work, cost key and time.
#include <gtest/gtest.h>

#include <vector>

#include "planner/costs/cost_key.hpp"
#include "planner/graph/record.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/models/unit_classes.hpp"
#include "planner/predictions/bound.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

/// A job of six layers: every third attends to everything, the others to four tokens.
Job job_of_kinds() {
  Job job = test::tiny_job();
  job.model.layers = 6;
  job.model.kinds = {{.window = 4}, {}};
  job.model.kind_of_layer = {0, 0, 1, 0, 0, 1};
  return job;
}

Job job_with_window(std::optional<std::int64_t> window) {
  Job job = job_of_kinds();
  job.model.kinds = {{.window = window}};
  job.model.kind_of_layer.clear();
  return job;
}

/// Costs of one second for every FLOP-like pair of a query and a key, and for nothing else.
class AttentionCosts : public test::RoundCosts {
 public:
  TaskCost compute(const CostKey&, const Work& work) const override {
    double pairs = 1;
    for (const AttentionWork& attention : work.attention) {
      pairs += attention.window ? 10 : 1000;
    }
    return {.amount = Amount(pairs), .cap = Rate(1), .uses = {}};
  }
};

TEST(LayerKinds, HaveTheWorkAndTheKeyOfAModelOfTheirKindAlone) {
  const Job mixed = job_of_kinds();
  for (const Pass pass : {Pass::block_forward, Pass::block_backward, Pass::block_recompute_input}) {
    EXPECT_EQ(compute_key(mixed, pass, 1), compute_key(job_with_window(4), pass, 1));
    EXPECT_EQ(compute_key(mixed, pass, 3), compute_key(job_with_window({}), pass, 3));
    EXPECT_EQ(work_of(mixed, pass, 1).attention.front().window, 4);
    EXPECT_EQ(work_of(mixed, pass, 3).attention.front().window, std::nullopt);
  }
  EXPECT_EQ(representatives(mixed.model), (std::vector<std::size_t>{0, 1, 3, 7}));
}

/// FLOPs of all products of a pass.
double product_flops(const Work& work) {
  double sum = 0;
  for (const Gemm& gemm : work.gemms) sum += flops(gemm).count();
  return sum;
}

TEST(LayerKinds, OfDeltaNetsHaveTheFlopsOfTheirMatricesAndTheRule) {
  Job job = job_of_kinds();
  job.model.kinds = {{.rotary = std::nullopt, .mixer = Mixer::gated_delta_net}, {}};
  job.model.delta_net = DeltaNet{.key_heads = 2, .value_heads = 4, .key_dim = 8, .value_dim = 6};
  const Work work = work_of(job, Pass::block_forward, 1);
  EXPECT_TRUE(work.attention.empty());
  // 2 keys of 16 elements, 2 values of 24, 2 x 4 rates; the o matrix; three matrices of the MLP.
  const std::int64_t h = job.model.hidden;
  const std::int64_t matrices =
      h * (2 * 16 + 2 * 24 + 2 * 4) + h * 24 + 3 * h * job.model.intermediate;
  const auto tokens = static_cast<double>(job.micro_tokens());
  // U and W, by a product each, stand in the place of half a product of the triangular system.
  const DeltaNet& net = *job.model.delta_net;
  const auto instead = static_cast<double>(net.value_heads * kDeltaChunk *
                                           (2 * net.key_dim + 2 * net.value_dim - net.value_dim));
  EXPECT_DOUBLE_EQ(product_flops(work),
                   tokens * (2 * static_cast<double>(matrices) + delta_rule_flops(net) + instead));
  EXPECT_NE(compute_key(job, Pass::block_forward, 1).name().find("gated_delta_net2.4.8.6"),
            std::string::npos);
  EXPECT_EQ(compute_key(job, Pass::block_forward, 3).name().find("delta"), std::string::npos);
  Job attention = job;
  attention.model.kinds = {LayerKind{}};
  attention.model.kind_of_layer.clear();
  attention.model.delta_net.reset();
  // Each layer of attention is one of a model without delta nets, but for the room in its record.
  EXPECT_DOUBLE_EQ(product_flops(work_of(job, Pass::block_backward, 3)),
                   product_flops(work_of(attention, Pass::block_backward, 3)));
  EXPECT_EQ(block_record(job, 0).residual, block_record(job, 1).residual);
  EXPECT_GE(block_record(job, 1).all_bytes, block_record(attention).all_bytes);
}

TEST(LayerKinds, AreTimedEachByItselfInAStep) {
  const Job job = job_of_kinds();
  const StepGraph graph = build_step_graph(job, uniform_plan(job, {}, 1), AttentionCosts());
  int windows = 0, full = 0;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    if (graph.tasks[i].kind != TaskKind::forward || graph.tasks[i].work.attention.empty()) continue;
    (graph.tasks[i].work.attention.front().window ? windows : full) += 1;
  }
  EXPECT_EQ(windows, 4 * job.micro_batches());
  EXPECT_EQ(full, 2 * job.micro_batches());
}

TEST(LayerKinds, TimesOfPassesAreMeansAndRebuildingTheLeast) {
  const PassTimes times = pass_times(job_of_kinds(), AttentionCosts());
  EXPECT_DOUBLE_EQ(times.block_forward.count() * 6, 4 * 11 + 2 * 1001);
  EXPECT_EQ(times.least_block_forward.count(), 11);
  EXPECT_EQ(times.most_block_forward.count(), 1001);
  EXPECT_EQ(times.recompute_input.count(), 11);
  EXPECT_EQ(times.most_recompute_input.count(), 1001);
  const PassTimes alone = pass_times(job_with_window(4), AttentionCosts());
  EXPECT_EQ(alone.block_forward, alone.least_block_forward);
}

}  // namespace
}  // namespace sluice::planner
