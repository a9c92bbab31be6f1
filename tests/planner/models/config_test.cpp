// Tests of config.json as files in the field have it: keys left out, two spellings of one thing.
#include <gtest/gtest.h>

#include "planner/models/config_notes.hpp"
#include "planner/models/shape.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/small_config.hpp"

namespace sluice::planner {
namespace {

using test::config;
using test::read;

ModelShape only(const std::string& family, const std::string& more = "") {
  return shape_from_config(
      R"({"model_type": ")" + family + '"' + (more.empty() ? "" : ", " + more) + "}",
      "config.json");
}

TEST(ConfigDefaults, AreThoseOfTheFamilysClass) {
  const ModelShape mixtral = only("mixtral");
  EXPECT_EQ(mixtral.rotary.front().theta, 1e6);
  EXPECT_EQ(mixtral.rms_eps, 1e-5);
  EXPECT_EQ(mixtral.kv_heads, 8);
  EXPECT_EQ(mixtral.experts->count, 8);
  EXPECT_EQ(mixtral.experts->active, 2);
  EXPECT_EQ(mixtral.kinds.front().window, std::nullopt);
  const ModelShape moe = only("qwen3_moe");
  EXPECT_EQ(moe.head_dim, 2048 / 32) << "Qwen3MoeConfig has no head_dim";
  EXPECT_EQ(moe.kv_heads, 4);
  EXPECT_EQ(moe.experts->count, 128);
  EXPECT_EQ(moe.experts->intermediate, 768);
  EXPECT_FALSE(moe.experts->normalized);
  EXPECT_EQ(only("qwen3").head_dim, 128);
  EXPECT_EQ(only("mistral").kinds.front().window, 4096);
  EXPECT_EQ(only("llama").kv_heads, 32) << "as many as heads";
  EXPECT_EQ(only("llama").max_positions, 2048);
  EXPECT_EQ(only("gpt_oss").rotary.front().scaling.kind, RopeScaling::Kind::yarn);
}

TEST(ConfigDefaults, NullMeansWhatTheFamilysClassMakesOfIt) {
  EXPECT_EQ(read("mistral", R"("head_dim": null)").head_dim, 16);
  EXPECT_REFUSED(only("qwen3", R"("head_dim": null)"), "head_dim: must be a number");
  EXPECT_REFUSED(only("llama", R"("hidden_size": null)"), "hidden_size: must be a number");
  EXPECT_EQ(only("mistral", R"("num_key_value_heads": null)").kv_heads, 32);
  EXPECT_REFUSED(only("qwen3_moe", R"("num_key_value_heads": null)"), "num_key_value_heads");
}

TEST(ConfigDefaults, ThatDoNotGoWithTheRestAreNamed) {
  EXPECT_REFUSED(only("mistral", R"("num_attention_heads": 12)"),
                 "num_key_value_heads: is missing, and transformers' 8 does not divide");
}

TEST(ConfigDefaults, AreListed) {
  const std::string text = config("mixtral", R"("rms_norm_eps": 1e-5)");
  std::string listed;
  for (const auto& [key, value] : defaulted_keys(text, shape_from_config(text, "config.json"))) {
    listed += key + " " + value + "; ";
  }
  EXPECT_NE(listed.find("rope_theta 1000000.0"), std::string::npos) << listed;
  EXPECT_NE(listed.find("num_local_experts 8"), std::string::npos) << listed;
  EXPECT_EQ(listed.find("rms_norm_eps"), std::string::npos) << listed;
  EXPECT_EQ(listed.find("hidden_size"), std::string::npos) << listed;
}

TEST(RopeConfig, IsReadByLayerTypeWhereAllLayersAreOfOne) {
  const ModelShape keyed = read("qwen3", R"("rope_parameters": {
      "full_attention": {"rope_type": "linear", "factor": 2, "rope_theta": 5e5},
      "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}})");
  EXPECT_EQ(keyed.rotary.front().theta, 5e5);
  EXPECT_EQ(keyed.rotary.front().scaling.kind, RopeScaling::Kind::linear);
  EXPECT_EQ(read("mistral", R"("rope_parameters": {"sliding_attention": {"rope_theta": 7}})")
                .rotary.front()
                .theta,
            7);
  EXPECT_REFUSED(read("qwen3", R"("rope_parameters": {"sliding_attention": {"rope_theta": 1e4}})"),
                 "rope_parameters");
}

TEST(RopeConfig, OfAPartOfEachHeadIsRefusedWhereverItStands) {
  EXPECT_REFUSED(read("llama", R"("partial_rotary_factor": 0.5)"), "partial_rotary_factor: 0.5");
  EXPECT_REFUSED(read("qwen3", R"("rope_parameters": {"rope_type": "default", "rope_theta": 1e4,
      "partial_rotary_factor": 0.25})"),
                 "partial_rotary_factor: 0.25");
  EXPECT_REFUSED(read("qwen3", R"("rope_parameters": {"full_attention": {"rope_theta": 1e4,
      "partial_rotary_factor": 0.25}})"),
                 "partial_rotary_factor: 0.25");
  EXPECT_EQ(read("llama", R"("partial_rotary_factor": 1.0)").head_dim, 16);
}

TEST(RopeConfig, SpelledTwiceMustAgree) {
  const std::string both =
      R"("rope_theta": 5e5, "rope_scaling": {"rope_type": "linear", "factor": 2},
      "rope_parameters": {"rope_type": "linear", "rope_theta": 5e5, "factor": )";
  EXPECT_EQ(read("llama", both + "2}").rotary.front().scaling.factor, 2);
  EXPECT_REFUSED(read("llama", both + "4}"), "rope_scaling: and rope_parameters differ");
  EXPECT_REFUSED(read("llama", R"("rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6})"),
                 "rope_theta: 10000.0 here, and 1000000.0 in rope_parameters");
  EXPECT_EQ(read("llama", R"("rope_scaling": null, "rope_parameters": {"rope_theta": 1e6})")
                .rotary.front()
                .theta,
            1e6);
  EXPECT_REFUSED(
      read("llama", R"("rope_scaling": {"type": "linear", "rope_type": "default", "factor": 2})"),
      "versions of transformers differ");
}

TEST(RopeConfig, AScalingWithoutAKindIsNotPassedOver) {
  EXPECT_REFUSED(read("llama", R"("rope_scaling": {"factor": 8})"), "factor: scales nothing");
  EXPECT_REFUSED(
      read("qwen2", R"("rope_scaling": {"type": "default", "mrope_section": [8, 12, 12]})"),
      "mrope_section");
  EXPECT_REFUSED(
      read("llama",
           R"("original_max_position_embeddings": 2048, "rope_scaling": {"rope_type": "yarn",
      "factor": 2, "original_max_position_embeddings": 4096})"),
      "original_max_position_embeddings: 2048 here, and 4096");
}

TEST(WindowConfig, LayerTypesAndWindowMustAgree) {
  const std::string sliding = R"("layer_types": ["sliding_attention", "sliding_attention"])";
  EXPECT_EQ(read("qwen2", sliding + R"(, "use_sliding_window": true, "sliding_window": 9)")
                .kinds.front()
                .window,
            9);
  EXPECT_REFUSED(read("qwen2", sliding), "needs use_sliding_window: true");
  EXPECT_EQ(read("mistral", sliding).kinds.front().window, 4096);
  EXPECT_REFUSED(read("mistral", sliding + R"(, "sliding_window": null)"), "layer_types");
  EXPECT_REFUSED(read("llama", sliding), "layer_types");
  EXPECT_REFUSED(read("mistral", R"("layer_types": ["sliding_attention", "full_attention"])"),
                 "full and sliding layers in one model");
  EXPECT_REFUSED(read("qwen3", R"("layer_types": ["full_attention"])"), "names 1 layers");
  EXPECT_REFUSED(read("qwen3", R"("layer_types": ["full_attention", "linear_attention"])"),
                 "only full_attention");
}

TEST(WindowConfig, OfQwen3MoeIsInAllLayersOrRefused) {
  const std::string window = R"("use_sliding_window": true, "sliding_window": 9)";
  EXPECT_EQ(read("qwen3_moe", window).kinds.front().window, 9);
  EXPECT_EQ(read("qwen3_moe", window + R"(, "max_window_layers": 0)").kinds.front().window, 9);
  EXPECT_REFUSED(read("qwen3_moe", window + R"(, "max_window_layers": 2)"), "max_window_layers");
  EXPECT_EQ(read("qwen3_moe", R"("max_window_layers": 2)").kinds.front().window, std::nullopt);
}

TEST(ExpertsConfig, UnderTwoNamesMustAgree) {
  EXPECT_EQ(read("mixtral", R"("num_experts": 6)").experts->count, 6);
  EXPECT_EQ(read("qwen3_moe", R"("num_experts": 16, "num_local_experts": 16)").experts->count, 16);
  EXPECT_REFUSED(read("qwen3_moe", R"("num_experts": 16, "num_local_experts": 8)"),
                 "num_experts: 16");
}

TEST(ConfigNotes, NameWhatIsStatedInVain) {
  const auto notes = [](const std::string& more) {
    const std::string text = config("llama", more);
    return config_notes(text, shape_from_config(text, "config.json"));
  };
  EXPECT_TRUE(notes(R"("attention_dropout": 0.0)").empty());
  ASSERT_EQ(notes(R"("attention_dropout": 0.1)").size(), 1u);
  EXPECT_EQ(notes(R"("attention_dropout": 0.1)")[0],
            "attention_dropout 0.1 is not applied: there is no dropout");
  const std::string seed = config("seed_oss", R"("residual_dropout": 0)");
  EXPECT_EQ(config_notes(seed, shape_from_config(seed, "config.json")),
            (std::vector<std::string>{
                "attention_dropout 0.1, transformers' value where config.json has none, is not "
                "applied: there is no dropout"}));
  EXPECT_NE(notes(R"("auto_map": {"AutoModel": "modeling_x.X"})")[0].find("auto_map"),
            std::string::npos);
  EXPECT_NE(
      notes(R"("max_position_embeddings": 64, "rope_scaling": {"rope_type": "yarn", "factor": 4,
      "original_max_position_embeddings": 64})")[0]
          .find("yarn scales by 4"),
      std::string::npos);
}

}  // namespace
}  // namespace sluice::planner
