// DeepSeek-V2 and V3 and GLM-4.7-Flash: latent attention, and experts behind a few dense layers.
#include <cmath>
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/routed_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

constexpr const char* kQueryRank = "q_lora_rank";

/// Factor of yarn's magnitude in the scale of scores, as the scaling of RoPE states it; 0 for none.
double stated_magnitude(const JsonObject& config) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto scaling = config.find_object(key);
    if (scaling && scaling->has("mscale_all_dim")) return scaling->number("mscale_all_dim");
  }
  return 0;
}

/// Reads the sizes of latent attention, and its rotary table.
void read_latent(const JsonObject& config, ModelShape& shape, std::int64_t query_rank,
                 LatentAttention usual) {
  LatentAttention latent;
  const bool null = config.json().contains(kQueryRank) && !config.has(kQueryRank);
  if (!null) latent.query_rank = integer_or(config, kQueryRank, query_rank);
  latent.rank = integer_or(config, "kv_lora_rank", usual.rank);
  latent.plain = integer_or(config, "qk_nope_head_dim", usual.plain);
  latent.rotated = integer_or(config, "qk_rope_head_dim", usual.rotated);
  latent.value = integer_or(config, "v_head_dim", usual.value);
  if (shape.kv_heads != shape.heads) {
    config.fail("num_key_value_heads", "must be num_attention_heads in latent attention");
  }
  shape.latent = latent;
  shape.head_dim = latent.plain + latent.rotated;
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  RotaryTable table = rotary_of(config, shape, {});
  table.rotated = latent.rotated;
  table.interleaved = boolean_or(config, "rope_interleave", true);
  const double magnitude = stated_magnitude(config);
  if (table.scaling.kind == RopeScaling::Kind::yarn && magnitude > 0) {
    const double factor = yarn_magnitude(table.scaling.factor, magnitude);
    shape.scales.attention = factor * factor / std::sqrt(static_cast<double>(shape.head_dim));
  }
  shape.rotary = {table};
}

void write_latent(const ModelShape& shape, ordered_json& json) {
  const LatentAttention& latent = *shape.latent;
  json["head_dim"] = latent.rotated;  // transformers takes it for this.
  json[kQueryRank] = latent.query_rank ? ordered_json(*latent.query_rank) : ordered_json();
  json["kv_lora_rank"] = latent.rank;
  json["qk_nope_head_dim"] = latent.plain;
  json["qk_rope_head_dim"] = latent.rotated;
  json["v_head_dim"] = latent.value;
  json["attention_bias"] = shape.o_bias;
  json["rope_interleave"] = shape.rotary.front().interleaved;
  if (shape.scales.attention) add_scale_keys(shape, json["rope_scaling"]);
}

void write_latent_and_routed(const ModelShape& shape, ordered_json& json) {
  write_latent(shape, json);
  write_routed(shape, json);
  json["mlp_layer_types"] = mlp_layer_types_json(shape);
}

/// Reads how V2 chooses experts: from all of them, or from the groups with the best expert.
void read_choice(const JsonObject& config, Experts& experts) {
  const std::string method = config.find_text("topk_method").value_or("greedy");
  experts.group_score = GroupScore::best;
  if (method == "greedy") {
    experts.groups = experts.active_groups = 1;
  } else if (method != "group_limited_greedy") {
    config.fail("topk_method", "only greedy and group_limited_greedy are supported");
  }
}

void read_deepseek_v2(const JsonObject& config, ModelShape& shape) {
  read_latent(config, shape, 1536, {.rank = 512, .plain = 128, .rotated = 64, .value = 128});
  read_routed(config, shape,
              {.experts = {.count = 64, .active = 6, .intermediate = 1407, .normalized = false},
               .shared = 2,
               .dense = 0});
  read_choice(config, *shape.experts);
  for (const char* key : {"norm_topk_prob", "mlp_bias"}) {
    if (boolean_or(config, key, false)) config.fail(key, "true is not supported in this family");
  }
}

void write_deepseek_v2(const ModelShape& shape, ordered_json& json) {
  write_latent_and_routed(shape, json);
  json["topk_method"] = shape.experts->groups > 1 ? "group_limited_greedy" : "greedy";
}

void read_deepseek_v3(const JsonObject& config, ModelShape& shape) {
  read_latent(config, shape, 1536, {.rank = 512, .plain = 128, .rotated = 64, .value = 128});
  read_routed(config, shape,
              {.experts = {.count = 256,
                           .active = 8,
                           .intermediate = 2048,
                           .score = RouterScore::sigmoid,
                           .correction_bias = true,
                           .groups = 8,
                           .active_groups = 4,
                           .scaling = 2.5},
               .dense = 3});
}

void read_glm4_moe_lite(const JsonObject& config, ModelShape& shape) {
  read_latent(config, shape, 768, {.rank = 512, .plain = 192, .rotated = 64, .value = 256});
  read_routed(config, shape,
              {.experts = {.count = 64,
                           .active = 4,
                           .intermediate = 1536,
                           .score = RouterScore::sigmoid,
                           .correction_bias = true,
                           .scaling = 1.8}});
}

}  // namespace

const FamilyReader& deepseek_v2_reader() {
  static const FamilyReader reader{{"deepseek_v2"},
                                   "DeepseekV2ForCausalLM",
                                   {.vocab_size = 102400, .head_dim = 64, .num_experts = 64},
                                   read_deepseek_v2,
                                   write_deepseek_v2};
  return reader;
}

const FamilyReader& deepseek_v3_reader() {
  static const FamilyReader reader{{"deepseek_v3"},
                                   "DeepseekV3ForCausalLM",
                                   {.vocab_size = 129280,
                                    .hidden_size = 7168,
                                    .intermediate_size = 18432,
                                    .num_hidden_layers = 61,
                                    .num_attention_heads = 128,
                                    .num_key_value_heads = 128,
                                    .head_dim = 64,
                                    .max_position_embeddings = 4096,
                                    .num_experts = 256},
                                   read_deepseek_v3,
                                   write_latent_and_routed};
  return reader;
}

const FamilyReader& glm4_moe_lite_reader() {
  static const FamilyReader reader{{"glm4_moe_lite"},
                                   "Glm4MoeLiteForCausalLM",
                                   {.vocab_size = 154880,
                                    .hidden_size = 2048,
                                    .intermediate_size = 10240,
                                    .num_hidden_layers = 47,
                                    .num_attention_heads = 20,
                                    .num_key_value_heads = 20,
                                    .null_key_value_heads = false,
                                    .head_dim = 64,
                                    .max_position_embeddings = 202752,
                                    .rms_norm_eps = 1e-5,
                                    .num_experts = 64},
                                   read_glm4_moe_lite,
                                   write_latent_and_routed};
  return reader;
}

}  // namespace sluice::planner
