#include "planner/models/shape.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/catalogue/catalogue.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/small_config.hpp"

namespace sluice::planner {
namespace {

using test::config;
using test::read;

std::vector<std::string> names(const UnitTensors& unit) {
  std::vector<std::string> result;
  for (const TensorSpec& tensor : unit.tensors) result.push_back(tensor.name);
  return result;
}

// Totals of each model's safetensors index on Hugging Face.
TEST(ParameterCount, EqualsThePublishedTotals) {
  const std::pair<const char*, std::int64_t> known[] = {
      {"qwen2.5-0.5b", 494032768},    {"qwen2.5-1.5b", 1543714304},
      {"qwen2.5-3b", 3085938688},     {"qwen2.5-7b", 7615616512},
      {"qwen2.5-14b", 14770033664},   {"qwen2.5-32b", 32763876352},
      {"qwen2.5-72b", 72706203648},   {"llama-3.1-8b", 8030261248},
      {"llama-3.1-70b", 70553706496}, {"llama-3.1-405b", 405853388800},
      {"llama-3.2-1b", 1235814400},   {"llama-3.2-3b", 3212749824},
      {"mistral-7b", 7241732096},     {"mistral-large", 122610069504},
      {"qwen3-0.6b", 596049920},      {"qwen3-8b", 8190735360},
      {"qwen3-32b", 32762123264},     {"qwen2.5-3b-untied", 3397103616}};
  // Those of wrappers are their text models': the index's total less vision tower and projector.
  const std::pair<const char*, std::int64_t> newer[] = {{"gemma-2-2b", 2614341888},
                                                        {"gemma-2-9b", 9241705984},
                                                        {"gemma-3-1b", 999885952},
                                                        {"gemma-3-4b", 4300079472 - 419816304},
                                                        {"gemma-3-12b", 12187325040 - 421290864},
                                                        {"gemma-3-27b", 27432406640 - 423060336},
                                                        {"olmo-2-7b", 7298617344},
                                                        {"olmo-2-13b", 13716198400},
                                                        {"olmo-3-7b", 7298011136},
                                                        {"olmo-3-32b", 32233522176},
                                                        {"olmoe-1b-7b", 6919161856},
                                                        {"smollm3-3b", 3075098624},
                                                        {"phi-4", 14659507200},
                                                        {"phi-4-mini", 3836021760},
                                                        {"glm-4-9b", 9400279040},
                                                        {"granite-3.3-8b", 8170864640},
                                                        {"seed-oss-36b", 36151104512},
                                                        {"ernie-4.5-0.3b", 360748032},
                                                        {"afm-4.5b", 4619184640},
                                                        {"qwen1.5-moe-a2.7b", 14315784192},
                                                        {"exaone-4.0-32b", 32003216384},
                                                        {"gpt-oss-120b", 116829156672}};
  // Those of transformers' classes with these values, on its meta device; deepseek-v2-lite and
  // ernie-4.5-21b-a3b have the published totals too.
  const std::pair<const char*, std::int64_t> built[] = {
      {"qwen3.5-4b", 4205751296},       {"qwen3.5-9b", 8953803264},
      {"qwen3.5-27b", 26895998464},     {"qwen3-next-80b-a3b", 79674391296},
      {"qwen3.5-35b-a3b", 34660610688}, {"ernie-4.5-21b-a3b", 21825437888},
      {"glm-4.7-flash", 29943393920},   {"deepseek-v2-lite", 15706484224},
      {"deepseek-v3", 671026419200},    {"gemma-4-31b", 30697345340},
      {"glm-4.5-air", 106852251264},    {"glm-4.5", 352797829024},
      {"minimax-m2", 228689764864},     {"kimi-k2", 1026408232448}};
  for (const auto& [name, count] : built) {
    EXPECT_EQ(parameter_count(find_model(name)), count) << name;
  }
  for (const auto& [name, count] : newer) {
    EXPECT_EQ(parameter_count(find_model(name)), count) << name;
  }
  for (const auto& [name, count] : known) {
    EXPECT_EQ(parameter_count(find_model(name)), count) << name;
  }
}

TEST(UnitTensors, StandInCanonicalOrderWithProductsThatMayBeFusedAdjacent) {
  const ModelShape shape = read("llama", R"("attention_bias": true, "mlp_bias": true)");
  const std::string l = "model.layers.1.";
  EXPECT_EQ(
      names(unit_tensors(shape, 2)),
      (std::vector<std::string>{
          l + "input_layernorm.weight", l + "self_attn.q_proj.weight",
          l + "self_attn.k_proj.weight", l + "self_attn.v_proj.weight", l + "self_attn.q_proj.bias",
          l + "self_attn.k_proj.bias", l + "self_attn.v_proj.bias", l + "self_attn.o_proj.weight",
          l + "self_attn.o_proj.bias", l + "post_attention_layernorm.weight",
          l + "mlp.gate_proj.weight", l + "mlp.up_proj.weight", l + "mlp.gate_proj.bias",
          l + "mlp.up_proj.bias", l + "mlp.down_proj.weight", l + "mlp.down_proj.bias"}));
}

TEST(UnitTensors, AreAlignedDisjointAndInOrder) {
  const ModelShape shape = read("qwen3", R"("head_dim": 10)");
  for (std::size_t index = 0; index < unit_count(shape); ++index) {
    const UnitTensors unit = unit_tensors(shape, index);
    std::int64_t end = 0;
    for (const TensorSpec& tensor : unit.tensors) {
      EXPECT_EQ(tensor.offset % kTensorAlign, 0) << tensor.name;
      EXPECT_GE(tensor.offset, end) << tensor.name;
      EXPECT_LT(tensor.offset - end, kTensorAlign) << tensor.name;
      EXPECT_EQ(tensor.decays, tensor.name.find("proj.weight") != std::string::npos ||
                                   tensor.name.find("embed") != std::string::npos ||
                                   tensor.name.find("lm_head") != std::string::npos);
      end = tensor.offset + tensor.size();
    }
    EXPECT_EQ(unit.padded_size, (end + kTensorAlign - 1) / kTensorAlign * kTensorAlign);
  }
}

TEST(UnitTensors, ATiedHeadHoldsOnlyItsNorm) {
  const ModelShape tied = read("qwen2", R"("tie_word_embeddings": true)");
  EXPECT_EQ(names(unit_tensors(tied, 3)), (std::vector<std::string>{"model.norm.weight"}));
  const ModelShape untied = read("qwen2");
  EXPECT_EQ(names(unit_tensors(untied, 3)),
            (std::vector<std::string>{"model.norm.weight", "lm_head.weight"}));
  EXPECT_EQ(parameter_count(untied) - parameter_count(tied), 256 * 64);
  EXPECT_EQ(matmul_parameters(untied), matmul_parameters(tied)) << "the product is there anyway";
}

TEST(UnitNames, AreEmbedBlocksHead) {
  const ModelShape shape = read("llama");
  EXPECT_EQ(unit_count(shape), 4u);
  EXPECT_EQ(unit_name(shape, 0), "embed");
  EXPECT_EQ(unit_name(shape, 1), "L0");
  EXPECT_EQ(unit_name(shape, 3), "head");
}

// Block: q and o 64 x 64, k and v 32 x 64, mlp 3 x 64 x 96; head 256 x 64. Attention 6 x 2 x 64 x
// S.
TEST(ModelFlops, CountMatrixProductsAndCausalAttention) {
  const ModelShape shape = read("llama");
  const std::int64_t block = 2 * 64 * 64 + 2 * 32 * 64 + 3 * 64 * 96;
  EXPECT_EQ(matmul_parameters(shape), 2 * block + 256 * 64);
  EXPECT_DOUBLE_EQ(model_flops_per_token(shape, 128).count(),
                   6.0 * static_cast<double>(2 * block + 256 * 64) + 6.0 * 2 * 64 * 128);
}

TEST(Config, FamiliesDifferInBiasesNormsAndHeadDim) {
  const ModelShape llama = read("llama");
  EXPECT_FALSE(llama.qkv_bias || llama.o_bias || llama.mlp_bias ||
               llama.head_norm != HeadNorm::none);
  EXPECT_EQ(llama.head_dim, 16);
  const ModelShape qwen2 = read("qwen2");
  EXPECT_TRUE(qwen2.qkv_bias);
  EXPECT_FALSE(qwen2.o_bias);
  const ModelShape qwen3 = read("qwen3");
  EXPECT_EQ(qwen3.head_norm, HeadNorm::per_head);
  EXPECT_FALSE(qwen3.qkv_bias);
  EXPECT_EQ(qwen3.head_dim, 128) << "the class default, not hidden / heads";
  EXPECT_EQ(read("mistral", R"("head_dim": 32)").head_dim, 32);
}

TEST(Config, MistralHasAWindowUnlessItIsNull) {
  EXPECT_EQ(read("mistral").kinds.front().window, 4096);
  EXPECT_EQ(read("mistral", R"("sliding_window": 128)").kinds.front().window, 128);
  EXPECT_EQ(read("mistral", R"("sliding_window": null)").kinds.front().window, std::nullopt);
}

TEST(Config, Qwen2WindowsOnlyWhereTheyAreUsed) {
  const std::string window = R"("sliding_window": 128, "max_window_layers": )";
  EXPECT_EQ(read("qwen2", window + "0").kinds.front().window, std::nullopt);
  EXPECT_EQ(read("qwen2", window + R"(0, "use_sliding_window": true)").kinds.front().window, 128);
  EXPECT_EQ(read("qwen2", window + R"(2, "use_sliding_window": true)").kinds.front().window,
            std::nullopt);
  const ModelShape mixed = read("qwen2", window + R"(1, "use_sliding_window": true)");
  ASSERT_EQ(mixed.kinds.size(), 2u);
  EXPECT_EQ(layer_kind(mixed, 0).window, std::nullopt);
  EXPECT_EQ(layer_kind(mixed, 1).window, 128);
  EXPECT_EQ(shape_from_config(config_from_shape(mixed), "config.json"), mixed);
}

TEST(Config, RopeIsReadFromBothPlaces) {
  EXPECT_EQ(read("llama", R"("rope_theta": 500000)").rotary.front().theta, 500000);
  const ModelShape newer = read("llama", R"("rope_parameters": {"rope_type": "llama3",
      "rope_theta": 500000, "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
      "original_max_position_embeddings": 8192})");
  EXPECT_EQ(newer.rotary.front().theta, 500000);
  EXPECT_EQ(newer.rotary.front().scaling, find_model("llama-3.1-8b").rotary.front().scaling);
  EXPECT_EQ(read("llama", R"("rope_scaling": {"type": "linear", "factor": 2})")
                .rotary.front()
                .scaling.kind,
            RopeScaling::Kind::linear);
  EXPECT_EQ(read("qwen2", R"("rope_scaling": {"rope_type": "yarn", "factor": 4,
      "original_max_position_embeddings": 32768})")
                .rotary.front()
                .scaling.original_max_positions,
            32768);
  EXPECT_REFUSED(read("llama", R"("rope_scaling": {"rope_type": "dynamic", "factor": 2})"),
                 "rope_type: \"dynamic\" is not supported");
  EXPECT_REFUSED(read("llama", R"("rope_parameters": {"rope_type": "longrope", "factor": 2})"),
                 "rope_type: \"longrope\" is not supported");
}

TEST(Config, YarnHasTheDefaultsOfTransformers) {
  const auto yarn = [](const std::string& more) {
    return read(
               "qwen2",
               R"("rope_theta": 10000, "max_position_embeddings": 131072, "rope_scaling": {"type": "yarn",
        "original_max_position_embeddings": 32768)" +
                   more + "}")
        .rotary.front()
        .scaling;
  };
  const RopeScaling plain = yarn(R"(, "factor": 4)");
  EXPECT_EQ(plain.beta_fast, 32);
  EXPECT_EQ(plain.beta_slow, 1);
  EXPECT_TRUE(plain.truncate);
  EXPECT_DOUBLE_EQ(plain.attention_factor, 0.1 * std::log(4.0) + 1);
  EXPECT_EQ(yarn(""), plain);  // The factor is that of the positions.
  EXPECT_EQ(yarn(R"(, "factor": 4, "mscale": 0, "beta_fast": 0)"), plain);
  EXPECT_DOUBLE_EQ(yarn(R"(, "factor": 4, "mscale": 1, "mscale_all_dim": 0.5)").attention_factor,
                   (0.1 * std::log(4.0) + 1) / (0.05 * std::log(4.0) + 1));
  EXPECT_EQ(yarn(R"(, "factor": 4, "attention_factor": 0.75)").attention_factor, 0.75);
  EXPECT_FALSE(yarn(R"(, "factor": 4, "truncate": false)").truncate);
  EXPECT_EQ(yarn(R"(, "factor": 0.5)").attention_factor, 1);
  EXPECT_REFUSED(yarn(R"(, "factor": 4, "beta_fast": 1, "beta_slow": 2)"), "beta_fast");
  EXPECT_REFUSED(yarn(R"(, "factor": -4)"), "factor: must be positive");
  EXPECT_REFUSED(read("llama", R"("rope_theta": 1, "rope_scaling": {"rope_type": "yarn",
      "factor": 4, "original_max_position_embeddings": 64})"),
                 "rope_theta of more than 1");
}

TEST(Config, ReadsBackWhatItWrites) {
  for (const CatalogueModel& model : catalogue_models()) {
    const ModelShape shape = find_model(model.name);
    EXPECT_EQ(shape_from_config(config_from_shape(shape), "config.json"), shape) << model.name;
  }
  ModelShape biased = read("llama", R"("attention_bias": true, "mlp_bias": true)");
  EXPECT_EQ(shape_from_config(config_from_shape(biased), "config.json"), biased);
  const ModelShape yarn = read("qwen2", R"("rope_scaling": {"rope_type": "yarn", "factor": 8,
      "original_max_position_embeddings": 64, "beta_fast": 16, "beta_slow": 2, "truncate": false,
      "mscale": 1, "mscale_all_dim": 0.5})");
  EXPECT_EQ(shape_from_config(config_from_shape(yarn), "config.json"), yarn);
}

TEST(Config, RefusesWhatItCannotTrain) {
  EXPECT_REFUSED(read("gpt2"),
                 "model_type: \"gpt2\" is not a supported family; supported: llama, "
                 "mistral, qwen2, qwen3");
  EXPECT_REFUSED(read("dbrx", R"("num_local_experts": 8)"),
                 "a mixture of experts, which is not supported");
  EXPECT_REFUSED(read("llama", R"("hidden_act2": 1, "num_local_experts": 8)"), "num_local_experts");
}

TEST(Config, NamesTheFileTheFieldAndTheReason) {
  const auto text = [](const std::string& from, const std::string& to) {
    std::string json = config("llama");
    return json.replace(json.find(from), from.size(), to);
  };
  const auto parse = [](const std::string& json) {
    return shape_from_config(json, "m/config.json");
  };
  EXPECT_REFUSED(parse(text(R"("hidden_size": 64)", R"("hidden_size": "64")")),
                 "m/config.json: hidden_size: must be a whole number");
  EXPECT_REFUSED(parse(text(R"("hidden_size": 64)", R"("hidden_size": -64)")), "hidden_size");
  EXPECT_REFUSED(parse(text(R"("num_hidden_layers": 2)", R"("num_hidden_layers": 0)")),
                 "num_hidden_layers: 0 must be at least 1");
  EXPECT_REFUSED(parse(text(R"("num_key_value_heads": 2)", R"("num_key_value_heads": 3)")),
                 "does not divide num_attention_heads");
  EXPECT_REFUSED(parse(text("silu", "gelu")), "hidden_act: \"gelu\" is not supported");
  EXPECT_REFUSED(parse("{\"model_type\": \"llama\",,}"), "m/config.json: line 1");
  EXPECT_REFUSED(parse("[]"), "must be an object");
}

}  // namespace
}  // namespace sluice::planner
