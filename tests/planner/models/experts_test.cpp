// Tests of shapes of mixtures of experts.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/catalogue/catalogue.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/layout/laid_out.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/small_config.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::read;

/// Number of parameters that one token meets, which of experts are the active ones.
std::int64_t active_parameters(const ModelShape& shape) {
  const Experts& experts = *shape.experts;
  const std::int64_t biases = shape.mlp_bias ? 2 * experts.intermediate + shape.hidden : 0;
  const std::int64_t expert = 3 * shape.hidden * experts.intermediate + biases;
  return parameter_count(shape) - shape.layers * (experts.count - experts.active) * expert;
}

constexpr const char* kRouted = R"("moe_intermediate_size": 24, "num_experts": 6,
    "num_experts_per_tok": 2, "num_local_experts": 6)";

TEST(Experts, AreRangesOfTheirBlockUnderTheNamesOfTheFamily) {
  const ModelShape qwen = read("qwen3_moe", kRouted);
  const UnitTensors unit = unit_tensors(qwen, 2);
  const std::string mlp = "model.layers.1.mlp.";
  const auto first = std::ranges::find(unit.tensors, mlp + "gate.weight", &TensorSpec::name);
  ASSERT_NE(first, unit.tensors.end());
  EXPECT_EQ(std::pair(first->rows, first->cols), std::pair(std::int64_t{6}, std::int64_t{64}));
  ASSERT_EQ(unit.tensors.end() - first, 1 + 3 * 6);
  EXPECT_EQ(first[1].name, mlp + "experts.0.gate_proj.weight");
  EXPECT_EQ(first[2].name, mlp + "experts.0.up_proj.weight");
  EXPECT_EQ(first[3].name, mlp + "experts.0.down_proj.weight");
  EXPECT_EQ(first[18].name, mlp + "experts.5.down_proj.weight");
  EXPECT_EQ(first[4].offset - first[1].offset, 3 * 24 * 64);
  EXPECT_EQ(first[3].rows, 64);
  EXPECT_TRUE(first->decays);
  const UnitTensors mixtral = unit_tensors(read("mixtral", kRouted), 1);
  EXPECT_EQ(mixtral.tensors.back().name, "model.layers.0.block_sparse_moe.experts.5.w2.weight");
}

TEST(Experts, TheSizeOfABlockNeedsNoNames) {
  for (const char* family : {"qwen3_moe", "mixtral", "llama"}) {
    // 5 x 6 elements a matrix: experts with padding between them.
    const ModelShape shape = shape_from_config(
        std::string(R"({"model_type": ")") + family +
            R"(", "hidden_size": 6, "intermediate_size": 5, "moe_intermediate_size": 5,
                "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1,
                "head_dim": 4, "vocab_size": 9)" +
            (std::string(family) == "llama" ? "}" : R"(, "num_experts": 7, "num_local_experts": 7,
                "num_experts_per_tok": 2})"),
        "config.json");
    for (std::size_t index = 0; index < unit_count(shape); ++index) {
      EXPECT_EQ(unit_padded_size(shape, index), unit_tensors(shape, index).padded_size) << family;
    }
  }
}

// One value a micro-batch, and none without a coefficient.
TEST(Experts, TheBalancingLossHasAPlaceOnBothBackends) {
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
    for (const bool balanced : {false, true}) {
      Job job = test::tiny_job();
      job.model = read("qwen3_moe", kRouted);
      if (balanced) job.router_aux_loss_coef = 0.01;
      const test::RoundCosts costs(1e9, device);
      const StepGraph graph = build_step_graph(job, uniform_plan(job, {}, 1), costs);
      std::int64_t said = 0;
      for (const StepTask& task : graph.tasks) {
        if (task.kind != TaskKind::loss) continue;
        said += std::ranges::count(task.accesses, Role::balance_loss, &Access::role);
      }
      EXPECT_EQ(said, balanced ? 3 * job.micro_batches() : 0) << static_cast<int>(device);
    }
  }
}

TEST(Experts, HaveOneKernelAProductHoweverManyTheyAre) {
  Job job = test::tiny_job();
  job.model = read("qwen3_moe", kRouted);
  const Work few = work_of(job, Pass::block_backward, 1);
  job.model.experts->count = 12;
  const Work many = work_of(job, Pass::block_backward, 1);
  EXPECT_EQ(few.kernels, many.kernels);
  const auto dealt = [&many](Gemm::Dealt what) {
    return std::ranges::count(many.gemms, what, &Gemm::dealt);
  };
  EXPECT_EQ(dealt(Gemm::Dealt::rows_back), 2) << "of gate and up, and down";
  EXPECT_EQ(dealt(Gemm::Dealt::terms), 2);
  for (const Gemm& gemm : many.gemms) {
    const std::int64_t share = job.micro_tokens() * 2 / 12;
    if (gemm.dealt == Gemm::Dealt::rows_back) {
      EXPECT_EQ(gemm.m, share);
    }
    if (gemm.dealt == Gemm::Dealt::terms) {
      EXPECT_EQ(gemm.k, share);
    }
  }
}

TEST(Experts, AreCountedUnderEitherNameInQwensConfigs) {
  constexpr const char* kRest = R"("moe_intermediate_size": 24, "num_experts_per_tok": 2, )";
  for (const char* name : {"num_experts", "num_local_experts"}) {
    const ModelShape shape = read("qwen3_moe", kRest + ('"' + std::string(name) + "\": 6"));
    EXPECT_EQ(shape.experts->count, 6) << name;
  }
}

TEST(Experts, SayWhetherSharesAddUpToOne) {
  EXPECT_FALSE(read("qwen3_moe", kRouted).experts->normalized) << "transformers' default";
  const ModelShape shares = read("qwen3_moe", std::string(kRouted) + R"(, "norm_topk_prob": true)");
  EXPECT_TRUE(shares.experts->normalized);
  EXPECT_TRUE(read("mixtral", kRouted).experts->normalized);
  EXPECT_EQ(shape_from_config(config_from_shape(shares), "config.json"), shares);
  EXPECT_TRUE(find_model("qwen3-30b-a3b").experts->normalized);
  EXPECT_REFUSED(read("mixtral", std::string(kRouted) + R"(, "router_jitter_noise": 0.1)"),
                 "router_jitter_noise");
}

/// Totals are as Hugging Face counts the checkpoints' tensors (for gpt-oss-20b, each 4-bit value is
/// a parameter); active parameters are as the models' cards round them.
TEST(Experts, CountParametersAsPublished) {
  struct Published {
    const char* config;
    std::int64_t total;
    double active;  ///< Billions.
  };
  const Published models[] = {
      {R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
           "moe_intermediate_size": 768, "num_experts": 128, "num_experts_per_tok": 8,
           "num_hidden_layers": 48, "num_attention_heads": 32, "num_key_value_heads": 4,
           "head_dim": 128, "vocab_size": 151936})",
       30'532'122'624, 3.3},
      {R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
           "num_local_experts": 8, "num_experts_per_tok": 2, "num_hidden_layers": 32,
           "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 32000})",
       46'702'792'704, 12.9},
      {R"({"model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880,
           "num_local_experts": 32, "num_experts_per_tok": 4, "num_hidden_layers": 24,
           "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
           "vocab_size": 201088})",
       20'914'757'184, 3.6},
  };
  for (const Published& model : models) {
    const ModelShape shape = shape_from_config(model.config, "config.json");
    EXPECT_EQ(parameter_count(shape), model.total) << to_string(shape.family);
    // gpt_oss's card leaves the embedding out of its active parameters.
    const std::int64_t lookup = shape.family == Family::gpt_oss ? shape.vocab * shape.hidden : 0;
    EXPECT_NEAR(static_cast<double>(active_parameters(shape) - lookup) / 1e9, model.active, 0.06)
        << to_string(shape.family);
  }
}

}  // namespace
}  // namespace sluice::planner
