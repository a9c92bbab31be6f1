// Tests of what each family's reader makes of a config.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "planner/catalogue/catalogue.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/support.hpp"
#include "planner/models/unit_classes.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/small_config.hpp"

namespace sluice::planner {
namespace {

/// A config.json of `family` with `layers` small layers and the further fields `more`.
ModelShape small(const std::string& family, int layers, const std::string& more = "") {
  return shape_from_config(
      R"({"model_type": ")" + family + R"(", "hidden_size": 64, "intermediate_size": 96,
         "num_hidden_layers": )" +
          std::to_string(layers) +
          R"(, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
         "vocab_size": 256)" +
          (more.empty() ? "" : ", " + more) + "}",
      "config.json");
}

std::vector<std::string> names_of(const ModelShape& shape) {
  std::vector<std::string> names;
  const std::string prefix = "model.layers.0.";
  for (const TensorSpec& tensor : unit_tensors(shape, 1).tensors) {
    names.push_back(tensor.name.substr(prefix.size()));
  }
  return names;
}

const TensorSpec& tensor(const UnitTensors& unit, TensorRole role) {
  return *std::ranges::find(unit.tensors, role, &TensorSpec::role);
}

std::vector<bool> windows_of(const ModelShape& shape) {
  std::vector<bool> windows;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    windows.push_back(layer_kind(shape, layer).window.has_value());
  }
  return windows;
}

TEST(Families, ReadBackWhatTheyWrite) {
  // gemma4's class would give each layer inputs of its own.
  const std::string plain = R"("hidden_size_per_layer_input": 0)";
  for (const FamilyReader* reader : family_readers()) {
    const std::int64_t heads = reader->defaults.num_attention_heads;
    const bool equal = reader->defaults.num_key_value_heads.value_or(heads) == heads;
    const ModelShape shape = shape_from_config(
        std::string(R"({"model_type": ")") + reader->family.model_type +
            R"(", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 7,
            "num_attention_heads": 4, "head_dim": 16, "vocab_size": 256,
            "num_key_value_heads": )" +
            (equal ? "4, " : "2, ") + plain + "}",
        "config.json");
    EXPECT_EQ(shape_from_config(config_from_shape(shape), "config.json"), shape)
        << reader->family.model_type;
    const FamilyDefaults& defaults = reader->defaults;
    const bool divides = defaults.hidden_size % defaults.num_attention_heads == 0;
    const std::string more = divides || defaults.head_dim ? "" : R"(, "head_dim": 128)";
    const ModelShape usual =
        shape_from_config(std::string(R"({"model_type": ")") + reader->family.model_type + "\"" +
                              more + ", " + plain + "}",
                          "config.json");
    EXPECT_EQ(shape_from_config(config_from_shape(usual), "config.json"), usual)
        << reader->family.model_type;
    EXPECT_EQ(unit_padded_size(usual, 3), unit_tensors(usual, 3).padded_size)
        << reader->family.model_type;
  }
}

TEST(Families, GemmaThreeHasFourNormsScalesAndTwoRotaryTables) {
  const ModelShape shape = small("gemma3_text", 7, R"("sliding_window": 32,
      "query_pre_attn_scalar": 25, "rope_scaling": {"rope_type": "linear", "factor": 8})");
  EXPECT_EQ(names_of(shape),
            (std::vector<std::string>{
                "input_layernorm.weight", "self_attn.q_proj.weight", "self_attn.k_proj.weight",
                "self_attn.v_proj.weight", "self_attn.q_norm.weight", "self_attn.k_norm.weight",
                "self_attn.o_proj.weight", "post_attention_layernorm.weight",
                "pre_feedforward_layernorm.weight", "post_feedforward_layernorm.weight",
                "mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"}));
  EXPECT_TRUE(shape.norms.one_plus_weight);
  EXPECT_EQ(shape.activation, Activation::gelu_tanh);
  EXPECT_EQ(shape.scales.embedding, 8) << "the root of 64";
  EXPECT_EQ(attention_scale(shape), 0.2);
  EXPECT_TRUE(shape.tied_head);
  EXPECT_EQ(windows_of(shape), (std::vector<bool>{true, true, true, true, true, false, true}));
  const RotaryTable* local = rotary_table(shape, layer_kind(shape, 0));
  const RotaryTable* global = rotary_table(shape, layer_kind(shape, 5));
  EXPECT_EQ(local->theta, 1e4);
  EXPECT_EQ(local->scaling, RopeScaling{});
  EXPECT_EQ(global->theta, 1e6);
  EXPECT_EQ(global->scaling.kind, RopeScaling::Kind::linear);
  const ModelShape keyed = small("gemma3_text", 7, R"("rope_parameters": {
      "full_attention": {"rope_type": "default", "rope_theta": 5e5},
      "sliding_attention": {"rope_type": "default", "rope_theta": 2e4}})");
  EXPECT_EQ(keyed.rotary.at(0).theta, 2e4);
  EXPECT_EQ(keyed.rotary.at(1).theta, 5e5);
}

TEST(Families, OlmoHasNormsBehindSublayersAndOverAllHeads) {
  const ModelShape two = small("olmo2", 2);
  EXPECT_EQ(names_of(two),
            (std::vector<std::string>{
                "self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                "self_attn.q_norm.weight", "self_attn.k_norm.weight", "self_attn.o_proj.weight",
                "post_attention_layernorm.weight", "post_feedforward_layernorm.weight",
                "mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"}));
  EXPECT_EQ(tensor(unit_tensors(two, 1), TensorRole::q_norm).cols, 64);
  EXPECT_EQ(tensor(unit_tensors(two, 1), TensorRole::k_norm).cols, 32);
  const ModelShape three = small("olmo3", 4, R"("max_position_embeddings": 64, "rope_scaling":
      {"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 8})");
  EXPECT_EQ(windows_of(three), (std::vector<bool>{true, true, true, false}));
  EXPECT_EQ(rotary_table(three, layer_kind(three, 0))->scaling.kind, RopeScaling::Kind::none);
  EXPECT_EQ(rotary_table(three, layer_kind(three, 3))->scaling.kind, RopeScaling::Kind::yarn);
}

TEST(Families, GlmTurnsHalfOfEachHeadInPairsThatLieSideBySide) {
  const ModelShape shape = small("glm4", 2);
  EXPECT_EQ(shape.rotary.front().rotated, 8);
  const UnitTensors block = unit_tensors(shape, 1);
  EXPECT_EQ(tensor(block, TensorRole::q).paired, (PairedRows{16, 8}));
  EXPECT_EQ(tensor(block, TensorRole::k_bias).paired, (PairedRows{16, 8}));
  EXPECT_EQ(tensor(block, TensorRole::v).paired, std::nullopt);
  EXPECT_EQ(tensor(block, TensorRole::norm_after_attention).name,
            "model.layers.0.post_self_attn_layernorm.weight");
  EXPECT_EQ(tensor(block, TensorRole::norm_before_mlp).name,
            "model.layers.0.post_attention_layernorm.weight");
  EXPECT_EQ(tensor(block, TensorRole::norm_after_mlp).name,
            "model.layers.0.post_mlp_layernorm.weight");
  EXPECT_EQ(
      tensor(block, TensorRole::up).on_disk,
      (DiskPlace{
          .name = "model.layers.0.mlp.gate_up_proj.weight", .first = 96, .block = 96, .step = 96}));
}

TEST(Families, PhiFusesProjectionsOnDisk) {
  const UnitTensors block = unit_tensors(small("phi3", 2), 1);
  const std::string fused = "model.layers.0.self_attn.qkv_proj.weight";
  EXPECT_EQ(tensor(block, TensorRole::k).on_disk,
            (DiskPlace{.name = fused, .first = 64, .block = 32, .step = 32}));
  EXPECT_EQ(tensor(block, TensorRole::v).on_disk->first, 96);
  const std::string lists = R"("rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1,
      1, 1], "long_factor": [1, 2, 3, 4, 5, 6]}, "partial_rotary_factor": 0.75,
      "max_position_embeddings": 64, "original_max_position_embeddings": 16)";
  const RotaryTable mini = small("phi3", 2, lists).rotary.front();
  EXPECT_EQ(mini.rotated, 12);
  EXPECT_EQ(mini.scaling.long_factors.back(), 6);
  EXPECT_DOUBLE_EQ(mini.scaling.attention_factor, std::sqrt(1 + std::log(4.0) / std::log(16.0)));
}

TEST(Families, QwenHybridsHaveDeltaNetsOnDiskHeadByHead) {
  const std::string sizes = R"("linear_num_key_heads": 2, "linear_num_value_heads": 6,
      "linear_key_head_dim": 4, "linear_value_head_dim": 5)";
  const ModelShape next = small("qwen3_next", 8, sizes);
  EXPECT_EQ(layers_of_kind(next, 0), 6);
  EXPECT_TRUE(is_linear(layer_kind(next, 2)));
  EXPECT_FALSE(is_linear(layer_kind(next, 3)));
  const UnitTensors block = unit_tensors(next, 1);
  const std::string fused = "model.layers.0.linear_attn.in_proj_qkvz.weight";
  // A key head: 4 rows of q, 4 of k, 15 of v, 15 of z.
  EXPECT_EQ(tensor(block, TensorRole::k).on_disk,
            (DiskPlace{.name = fused, .first = 4, .block = 4, .step = 38}));
  EXPECT_EQ(tensor(block, TensorRole::delta_gate).on_disk,
            (DiskPlace{.name = fused, .first = 23, .block = 15, .step = 38}));
  EXPECT_EQ(tensor(block, TensorRole::delta_decay).on_disk,
            (DiskPlace{.name = "model.layers.0.linear_attn.in_proj_ba.weight",
                       .first = 3,
                       .block = 3,
                       .step = 6}));
  EXPECT_TRUE(tensor(block, TensorRole::delta_log_rate).decays);
  EXPECT_TRUE(tensor(block, TensorRole::delta_conv).decays);
  EXPECT_FALSE(tensor(block, TensorRole::delta_time_bias).decays);
  EXPECT_FALSE(tensor(block, TensorRole::delta_norm).decays);
  EXPECT_EQ(unit_tensors(next, 4).padded_size, unit_padded_size(next, 4));
  EXPECT_NE(expert_range(next, 0).first, expert_range(next, 3).first);
  const ModelShape five = small("qwen3_5_text", 4, sizes);
  EXPECT_EQ(tensor(unit_tensors(five, 1), TensorRole::v).on_disk,
            (DiskPlace{.name = "model.layers.0.linear_attn.in_proj_qkv.weight",
                       .first = 16,
                       .block = 30,
                       .step = 30}));
  EXPECT_EQ(unsupported_by_host(five), std::nullopt);
  EXPECT_EQ(unsupported_by_cuda(five), std::nullopt);
  EXPECT_REFUSED(small("qwen3_next", 4, R"("linear_conv_kernel_dim": 3)"),
                 "linear_conv_kernel_dim");
  EXPECT_REFUSED(small("qwen3_next", 4, R"("linear_num_key_heads": 5)"), "linear_num_key_heads");
  EXPECT_REFUSED(small("qwen3_5_text", 4, R"("layer_types": ["full_attention"])"),
                 "layer_types: names 1");
}

TEST(Families, WithPartsThatNoBackendComputesArePredictedOnly) {
  EXPECT_EQ(unsupported_by_host(small("gemma4_text", 6, R"("hidden_size_per_layer_input": 0)")),
            "heads of several sizes");
  EXPECT_REFUSED(small("gemma4_text", 6), "hidden_size_per_layer_input");
  EXPECT_REFUSED(small("deepseek_v3", 4), "num_key_value_heads");
}

TEST(Families, GptOssStacksExpertsWhoseGatesAndUpsAlternate) {
  const ModelShape shape =
      small("gpt_oss", 4, R"("num_local_experts": 3, "num_experts_per_tok": 2)");
  EXPECT_EQ(windows_of(shape), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(shape.kinds.front().window, 128);
  const UnitTensors block = unit_tensors(shape, 1);
  const auto up = std::ranges::find(block.tensors, "model.layers.0.mlp.experts.2.up_proj.weight",
                                    &TensorSpec::name);
  ASSERT_NE(up, block.tensors.end());
  EXPECT_EQ(up->on_disk, (DiskPlace{.name = "model.layers.0.mlp.experts.gate_up_proj",
                                    .first = 1,
                                    .step = 2,
                                    .stacked = 2,
                                    .transposed = true}));
  EXPECT_EQ(tensor(block, TensorRole::router).name, "model.layers.0.mlp.router.weight");
  EXPECT_EQ(up->offset - tensor(block, TensorRole::expert_up).offset,
            2 * expert_range(shape).stride);
  EXPECT_REFUSED(small("gpt_oss", 2, R"("swiglu_limit": 5)"), "swiglu_limit");
}

TEST(Families, SmolLayersWithoutPositionsAreEveryFourth) {
  const ModelShape shape = small("smollm3", 8);
  for (std::int64_t layer = 0; layer < 8; ++layer) {
    EXPECT_EQ(layer_kind(shape, layer).rotary.has_value(), layer % 4 != 3);
  }
  EXPECT_FALSE(
      layer_kind(small("smollm3", 2, R"("no_rope_layers": [1, 0])"), 1).rotary.has_value());
  EXPECT_REFUSED(small("smollm3", 2, R"("no_rope_layers": [1])"), "no_rope_layers: names 1");
}

TEST(Families, GraniteMultiplies) {
  const ModelShape shape = small("granite", 2, R"("embedding_multiplier": 12,
      "attention_multiplier": 0.5, "residual_multiplier": 0.25, "logits_scaling": 16)");
  EXPECT_EQ(shape.scales.embedding, 12);
  EXPECT_FALSE(shape.scales.embedding_rounded);
  EXPECT_EQ(attention_scale(shape), 0.5);
  EXPECT_EQ(shape.scales.residual, 0.25);
  EXPECT_EQ(shape.scales.logits, 1.0 / 16);
  EXPECT_EQ(attention_scale(small("granite", 2)), 1) << "transformers' default";
}

TEST(Families, ArceeHasNoGate) {
  const ModelShape shape = small("arcee", 2);
  EXPECT_EQ(shape.activation, Activation::relu2);
  EXPECT_EQ(std::ranges::count(names_of(shape), "mlp.gate_proj.weight"), 0);
  EXPECT_REFUSED(small("llama", 2, R"("hidden_act": "relu2")"), "hidden_act");
}

TEST(Families, SharedExpertsAndDenseLayersAreCounted) {
  const std::string experts = R"("num_experts": 5, "num_experts_per_tok": 2,
      "moe_intermediate_size": 8, "shared_expert_intermediate_size": 24, "mlp_only_layers": [1])";
  const ModelShape shape = small("qwen2_moe", 3, experts);
  const std::int64_t attention = (64 + 32 + 32) * 64 + 128 + 64 * 64 + 2 * 64;
  const std::int64_t routed = 5 * 64 + 3 * 64 * 24 + 64 + 5 * 3 * 64 * 8;
  EXPECT_EQ(unit_tensors(shape, 1).parameters(), attention + routed);
  EXPECT_EQ(unit_tensors(shape, 2).parameters(), attention + 3 * 64 * 96);
  EXPECT_EQ(parameter_count(shape), 3 * attention + 2 * routed + 3 * 64 * 96 + 2 * 256 * 64 + 64);
  EXPECT_EQ(class_representative(shape, 3), 1u);
  EXPECT_EQ(class_representative(shape, 2), 2u);
  const std::vector<std::int64_t> sizes = padded_sizes(shape);
  ASSERT_EQ(sizes.size(), unit_count(shape));
  for (std::size_t unit = 0; unit < sizes.size(); ++unit) {
    EXPECT_EQ(sizes[unit], unit_padded_size(shape, unit)) << unit;
  }
}

TEST(Families, TextModelsOfWrappersAreRead) {
  const ModelShape gemma = shape_from_config(
      R"({"model_type": "gemma3", "vision_config": {"hidden_size": 7}, "text_config":
          {"model_type": "gemma3_text", "hidden_size": 64, "num_hidden_layers": 2}})",
      "config.json");
  EXPECT_EQ(gemma.hidden, 64);
  EXPECT_EQ(gemma.vocab, 262208);
  const ModelShape qwen = small("qwen2_5_vl", 2, R"("tie_word_embeddings": true, "rope_scaling":
      {"type": "mrope", "mrope_section": [2, 3, 3]})");
  EXPECT_EQ(qwen.family, Family::qwen2);
  EXPECT_TRUE(qwen.tied_head);
  EXPECT_EQ(qwen.rotary.front().scaling, RopeScaling{});
  EXPECT_REFUSED(
      shape_from_config(R"({"model_type": "gemma3", "text_config": {"model_type": "t5"}})",
                        "config.json"),
      "model_type: \"t5\"");
}

TEST(Families, MinistralsQueriesGrowWithTheirPosition) {
  const ModelShape usual = small("ministral3", 2);
  EXPECT_EQ(usual.scales.query_growth, 0.1);
  EXPECT_EQ(usual.scales.query_growth_from, 16384);
  Job job;
  job.model = usual;
  job.seq_len = 16385;
  job.batch_size = 1;
  EXPECT_NO_THROW(validate(job));
}

TEST(Support, BothBackendsComputeEveryFamilyButThese) {
  const std::map<std::string, std::string> refused = {
      {"gemma4_text", "heads of several sizes"},
      {"hunyuan_v1_dense", "norms of q and k behind their rotation"}};
  const std::map<std::string, std::string> published = {{"deepseek_v2", "deepseek-v2-lite"},
                                                        {"gemma4_text", "gemma-4-31b"},
                                                        {"deepseek_v3", "deepseek-v3"},
                                                        {"glm4_moe_lite", "glm-4.7-flash"}};
  const auto expected = [&](const std::string& name) {
    const auto found = refused.find(name);
    return found == refused.end() ? std::nullopt : std::optional(found->second);
  };
  for (const FamilyReader* reader : family_readers()) {
    const std::string name = reader->family.model_type;
    const auto model = published.find(name);
    const ModelShape shape = model == published.end() ? small(name, 7) : find_model(model->second);
    EXPECT_EQ(unsupported_by_host(shape), expected(name)) << name;
    EXPECT_EQ(unsupported_by_cuda(shape), expected(name)) << name;
  }
}

TEST(Support, NamesThePartThatIsMissing) {
  ModelShape factored = small("llama", 2);
  factored.layer_factor = true;
  EXPECT_EQ(unsupported_by_cuda(factored), "factors of layers");
  EXPECT_REFUSED((require_computed_by_cuda(factored), 0),
                 "llama has factors of layers, which the cuda backend does not compute");
  ModelShape sandwiched = small("gpt_oss", 2);
  sandwiched.norms.after_mlp = true;
  EXPECT_EQ(unsupported_by_cuda(sandwiched),
            "experts between other norms than one before both sublayers");
}

}  // namespace
}  // namespace sluice::planner
