// Blocks of every kind of layer of families beyond llama's, and of shapes that have the parts that
// no family has alone, against the host backend.
#include <optional>

#include "planner/models/unit_classes.hpp"
#include "sim/error.hpp"
#include "tests/engine/cuda/layers/block_agreement.hpp"
#include "tests/engine/cuda/layers/templates_run.hpp"

namespace sluice::engine {
namespace {

/// A small model of a family: what its config.json says beyond sizes.
struct SmallModel {
  const char* name;
  const char* family;
  int layers;
  const char* more;
};

planner::ModelShape shape_of(const SmallModel& model) {
  const std::string more = model.more;
  const auto unless_said = [&](const std::string& key, int value) {
    const bool said = more.find("\"" + key + "\"") != std::string::npos;
    return said ? std::string() : ", \"" + key + "\": " + std::to_string(value);
  };
  planner::ModelShape shape = planner::shape_from_config(
      std::string(R"({"model_type": ")") + model.family + R"(", "hidden_size": 256)" +
          unless_said("intermediate_size", 704) + unless_said("head_dim", 64) +
          unless_said("num_attention_heads", 4) + unless_said("num_key_value_heads", 2) +
          R"(, "vocab_size": 1024, "num_hidden_layers": )" + std::to_string(model.layers) +
          (more.empty() ? "" : ", " + more) + "}",
      "config.json");
  shape.init_std = 0.05;
  return shape;
}

/// Two sequences of 128 tokens.
planner::Job job_of(planner::ModelShape shape) {
  planner::Job job = small_job(planner::Family::llama, planner::ComputeType::bf16);
  job.model = std::move(shape);
  return job;
}

constexpr const char* kMixture = R"("num_experts_per_tok": 2, "moe_intermediate_size": 352)";

const std::string kGlmMixture =
    std::string(kMixture) +
    R"(, "n_routed_experts": 8, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 1.5,
       "use_qk_norm": true, "attention_bias": true)";
const std::string kDotsMixture =
    std::string(kMixture) +
    R"(, "n_routed_experts": 8, "n_shared_experts": 1, "routed_scaling_factor": 1.5,
       "first_k_dense_replace": 1, "sliding_window": 40, "max_window_layers": 1)";
const std::string kQwenMixture =
    std::string(kMixture) +
    R"(, "num_experts": 8, "shared_expert_intermediate_size": 416, "mlp_only_layers": [1])";

/// Heads of gated delta nets, and of attention, of which a quarter turns.
const std::string kHybrid =
    R"("linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 64,
       "linear_value_head_dim": 32, "full_attention_interval": 2, "partial_rotary_factor": 0.25)";
const std::string kHybridMixture =
    kHybrid + ", " + kMixture + R"(, "num_experts": 8, "shared_expert_intermediate_size": 416)";
const std::string kErnieMixture =
    std::string(R"("moe_k": 2, "moe_intermediate_size": 352, "moe_num_experts": 8)");

/// Heads of 64 elements that do not turn and 32 that do; those of values are narrower.
const std::string kLatent =
    R"("num_key_value_heads": 4, "q_lora_rank": 96, "kv_lora_rank": 64, "qk_nope_head_dim": 64,
       "qk_rope_head_dim": 32, "v_head_dim": 64, "n_shared_experts": 1,
       "first_k_dense_replace": 1, "n_routed_experts": 8, "routed_scaling_factor": 1.5, )" +
    std::string(kMixture);
const std::string kDeepseekV2 =
    kLatent + R"(, "topk_method": "group_limited_greedy", "n_group": 4, "topk_group": 2)";
const std::string kDeepseekV3 = kLatent + R"(, "n_group": 4, "topk_group": 2)";
/// Queries that are made of the token, and biases. A bias of the shared key moves the scores of a
/// query by its turning alone, so positions turn fast, or its gradient would be mostly rounding.
const std::string kPlainQueries =
    R"("q_lora_rank": null, "attention_bias": true, "rope_theta": 10, "num_key_value_heads": 4, "kv_lora_rank": 64,
       "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 96, "n_shared_experts": 1,
       "first_k_dense_replace": 1, "n_routed_experts": 8, )" +
    std::string(kMixture);
/// Heads of 192, which are computed in tiles, and narrower ones of values.
const std::string kWideLatent =
    R"("num_attention_heads": 2, "num_key_value_heads": 2, "q_lora_rank": 96, "kv_lora_rank": 64,
       "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_shared_experts": 1,
       "first_k_dense_replace": 1, "n_routed_experts": 8, "n_group": 4, "topk_group": 2, )" +
    std::string(kMixture);

const std::vector<SmallModel>& small_models() {
  static const std::vector<SmallModel> models = {
      {"gpt_oss", "gpt_oss", 2,
       R"("num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": 352,
          "sliding_window": 40)"},
      {"gemma3", "gemma3_text", 6, R"("sliding_window": 40, "query_pre_attn_scalar": 50)"},
      {"gemma3_heads_of_256", "gemma3_text", 6,
       R"("sliding_window": 40, "head_dim": 256, "num_key_value_heads": 1)"},
      {"gemma2", "gemma2", 2,
       R"("sliding_window": 40, "attn_logit_softcapping": 2.0, "query_pre_attn_scalar": 16)"},
      {"olmo2", "olmo2", 1, ""},
      {"olmo3", "olmo3", 4, R"("sliding_window": 40)"},
      {"glm4", "glm4", 1, ""},
      {"granite", "granite", 1,
       R"("attention_multiplier": 0.05, "residual_multiplier": 0.25, "embedding_multiplier": 12,
          "logits_scaling": 4)"},
      {"arcee", "arcee", 1, ""},
      {"smollm3", "smollm3", 4, ""},
      {"phi3_partial", "phi3", 1, R"("partial_rotary_factor": 0.75)"},
      {"ministral", "ministral", 2, R"("sliding_window": 40)"},
      {"ministral3", "ministral3", 1, ""},
      {"seed_oss", "seed_oss", 1, ""},
      {"ernie4_5", "ernie4_5", 1, ""},
      {"qwen2_moe", "qwen2_moe", 2, kQwenMixture.c_str()},
      {"glm4_moe", "glm4_moe", 2, kGlmMixture.c_str()},
      {"dots1", "dots1", 2, kDotsMixture.c_str()},
      {"ernie4_5_moe", "ernie4_5_moe", 2, kErnieMixture.c_str()},
      {"qwen3_5", "qwen3_5_text", 2, kHybrid.c_str()},
      {"qwen3_next", "qwen3_next", 2, kHybridMixture.c_str()},
      {"qwen3_5_moe", "qwen3_5_moe_text", 2, kHybridMixture.c_str()},
      {"deepseek_v2", "deepseek_v2", 2, kDeepseekV2.c_str()},
      {"deepseek_v3", "deepseek_v3", 2, kDeepseekV3.c_str()},
      {"deepseek_v3_wide", "deepseek_v3", 2, kWideLatent.c_str()},
      {"glm4_moe_lite", "glm4_moe_lite", 2, kLatent.c_str()},
      {"glm4_moe_lite_plain", "glm4_moe_lite", 2, kPlainQueries.c_str()},
  };
  return models;
}

class CudaFamilies : public TemplatesTest, public ::testing::WithParamInterface<SmallModel> {
 protected:
  /// Compares one block of each kind.
  void expect_every_kind_agrees(const planner::Job& job) {
    for (const planner::BlockClass& each : planner::block_classes(job.model)) {
      SCOPED_TRACE(each.unit);
      std::printf("  %s\n", planner::unit_name(job.model, each.unit).c_str());
      expect_block_agrees(stream_, job, each.unit);
    }
  }
};

TEST_P(CudaFamilies, BlocksOfEveryKindAgreeWithTheHost) {
  expect_every_kind_agrees(job_of(shape_of(GetParam())));
}

TEST_P(CudaFamilies, BlocksOfDocumentsAgreeWithTheHost) {
  planner::Job job = job_of(shape_of(GetParam()));
  job.attention = planner::AttentionSpan::document;
  expect_every_kind_agrees(job);
}

TEST_P(CudaFamilies, SequencesInPartsAgreeWithTheWhole) {
  const planner::Job job = job_of(shape_of(GetParam()));
  for (const planner::BlockClass& each : planner::block_classes(job.model)) {
    SCOPED_TRACE(each.unit);
    expect_sequence_parts_agree(stream_, job, each.unit);
  }
}

TEST_P(CudaFamilies, MlpsInChunksAgreeWithTheHost) {
  planner::Job job = job_of(shape_of(GetParam()));
  job.mlp_chunk = 96;  // 256 tokens make chunks of 96, 96 and 64.
  if (!job.chunks_mlp()) GTEST_SKIP() << "experts are not computed in chunks";
  expect_block_agrees(stream_, job, 1);
}

INSTANTIATE_TEST_SUITE_P(Of, CudaFamilies, ::testing::ValuesIn(small_models()),
                         [](const auto& model) { return std::string(model.param.name); });

TEST(CudaFamilyShapes, AreComputableWithoutAskingAGpu) {
  for (const SmallModel& model : small_models()) {
    planner::Job job = job_of(shape_of(model));
    EXPECT_NO_THROW(CudaTemplates::require_computable(job)) << model.name;
    job.attention = planner::AttentionSpan::document;
    EXPECT_NO_THROW(CudaTemplates::require_computable(job)) << model.name;
  }
}

TEST(CudaFamilyShapes, OfGatedDeltaNetsThatKernelsDoNotComputeAreRefusedByTheField) {
  const auto refusal = [](auto change) {
    planner::Job job = job_of(shape_of({"qwen3_5", "qwen3_5_text", 2, kHybrid.c_str()}));
    change(*job.model.delta_net);
    try {
      CudaTemplates::require_computable(job);
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal([](planner::DeltaNet&) {}), "");
  EXPECT_NE(refusal([](planner::DeltaNet& net) { net.key_dim = 24; }).find("linear_key_head_dim"),
            std::string::npos);
  EXPECT_NE(
      refusal([](planner::DeltaNet& net) { net.value_dim = 144; }).find("linear_value_head_dim"),
      std::string::npos);
  EXPECT_NE(refusal([](planner::DeltaNet& net) {
              net.value_heads = net.key_heads = 2;
            }).find("linear_num_value_heads"),
            std::string::npos);
}

TEST(CudaFamilyShapes, OfLatentAttentionThatKernelsDoNotComputeAreRefusedByTheField) {
  const auto refusal = [](auto change) {
    planner::Job job = job_of(shape_of({"deepseek_v3", "deepseek_v3", 2, kDeepseekV3.c_str()}));
    change(*job.model.latent);
    try {
      CudaTemplates::require_computable(job);
    } catch (const BadRequest& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto names = [&](const char* field, auto change) {
    EXPECT_NE(refusal(change).find(field), std::string::npos) << field;
  };
  EXPECT_EQ(refusal([](planner::LatentAttention&) {}), "");
  names("qk_rope_head_dim", [](planner::LatentAttention& latent) { latent.rotated = 24; });
  names("qk_nope_head_dim", [](planner::LatentAttention& latent) { latent.plain = 68; });
  names("v_head_dim", [](planner::LatentAttention& latent) { latent.value = 68; });
  names("v_head_dim", [](planner::LatentAttention& latent) { latent.value = 128; });
  names("q_lora_rank", [](planner::LatentAttention& latent) { latent.query_rank = 1 << 16; });
}

class CudaBlockParts : public CudaFamilies {
 protected:
  static planner::ModelShape plain() {
    return small_job(planner::Family::llama, planner::ComputeType::bf16).model;
  }
};

TEST_F(CudaBlockParts, GatesOnAttentionsOutputAgreeWithTheHost) {
  planner::ModelShape shape = plain();
  shape.attention_gate = true;
  shape.head_norm = planner::HeadNorm::per_head;
  shape.norms.one_plus_weight = true;
  shape.rotary.front().rotated = 16;
  expect_every_kind_agrees(job_of(shape));
}

TEST_F(CudaBlockParts, NormsOfHeadsWithoutWeightsAgreeWithTheHost) {
  planner::ModelShape shape = plain();
  shape.head_norm = planner::HeadNorm::per_head_weightless;
  shape.scales.attention = 0.15;
  expect_every_kind_agrees(job_of(shape));
}

TEST_F(CudaBlockParts, HeadsOfAnyEvenSizeAgreeWithTheHost) {
  planner::ModelShape shape = plain();
  shape.head_norm = planner::HeadNorm::per_head;
  shape.head_dim = 96;
  expect_every_kind_agrees(job_of(shape));
}

TEST_F(CudaBlockParts, FactorsOfExpertsAndTheirSharedOneAgreeWithTheHost) {
  planner::ModelShape shape = plain();
  shape.scales.residual = 0.7;
  shape.experts = planner::Experts{.count = 8,
                                   .active = 2,
                                   .intermediate = 352,
                                   .normalized = false,
                                   .shared_intermediate = 160};
  shape.intermediate = 704;
  expect_every_kind_agrees(job_of(shape));
}

TEST_F(CudaBlockParts, LongSequencesOfWideHeadsAgreeWithTheHost) {
  // Several tiles of queries and keys, the last of them short, with and without a window.
  for (const auto window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(150)}) {
    planner::ModelShape shape = plain();
    shape.head_dim = 256;
    shape.kv_heads = 1;
    shape.heads = 2;
    shape.kinds.front().window = window;
    planner::Job job = job_of(shape);
    job.seq_len = 456;
    job.batch_size = job.micro_batch = 1;
    expect_every_kind_agrees(job);
  }
}

}  // namespace
}  // namespace sluice::engine
