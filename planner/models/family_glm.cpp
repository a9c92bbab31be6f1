// GLM: half of each head turns; pairs side by side and fused gates in the dense families.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/routed_config.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

void read_glm(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = boolean_or(config, "attention_bias", true);
  shape.names.fused_gate_up = "mlp.gate_up_proj";
  read_rope(config, shape);
}

void write_glm(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.qkv_bias;
  const std::int64_t rotated = shape.rotary.front().rotated.value_or(shape.head_dim);
  json["partial_rotary_factor"] =
      static_cast<double>(rotated) / static_cast<double>(shape.head_dim);
}

void read_glm4(const JsonObject& config, ModelShape& shape) {
  read_glm(config, shape);
  shape.norms.after_attention = shape.norms.after_mlp = true;
  shape.names.norm_after_attention = "post_self_attn_layernorm";
  shape.names.norm_after_mlp = "post_mlp_layernorm";
}

/// The first layers are dense; experts are chosen by biased sigmoids, one is shared by all tokens.
void read_glm4_moe(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = boolean_or(config, "attention_bias", false);
  if (boolean_or(config, "use_qk_norm", false)) shape.head_norm = HeadNorm::per_head;
  read_rope(config, shape);
  read_routed(config, shape,
              {.experts = {.count = 128,
                           .active = 8,
                           .intermediate = 1408,
                           .score = RouterScore::sigmoid,
                           .correction_bias = true}});
}

void write_glm4_moe(const ModelShape& shape, ordered_json& json) {
  write_glm(shape, json);
  json["use_qk_norm"] = shape.head_norm == HeadNorm::per_head;
  write_routed(shape, json);
}

FamilyDefaults dense_defaults() {
  return {.vocab_size = 151552,
          .intermediate_size = 13696,
          .num_hidden_layers = 40,
          .num_key_value_heads = 2,
          .null_key_value_heads = false,
          .head_dim = 128,
          .max_position_embeddings = 131072,
          .rms_norm_eps = 1.5625e-7,
          .partial_rotary_factor = 0.5,
          .interleaved_rotary = true};
}

}  // namespace

const FamilyReader& glm_reader() {
  static const FamilyReader reader{
      {"glm"}, "GlmForCausalLM", dense_defaults(), read_glm, write_glm};
  return reader;
}

const FamilyReader& glm4_reader() {
  static const FamilyReader reader{
      {"glm4"}, "Glm4ForCausalLM", dense_defaults(), read_glm4, write_glm};
  return reader;
}

const FamilyReader& glm4_moe_reader() {
  static const FamilyReader reader{{"glm4_moe"},
                                   "Glm4MoeForCausalLM",
                                   {.vocab_size = 151552,
                                    .intermediate_size = 10944,
                                    .num_hidden_layers = 46,
                                    .num_attention_heads = 96,
                                    .num_key_value_heads = 8,
                                    .null_key_value_heads = false,
                                    .max_position_embeddings = 131072,
                                    .rms_norm_eps = 1e-5,
                                    .partial_rotary_factor = 0.5,
                                    .num_experts = 128},
                                   read_glm4_moe,
                                   write_glm4_moe};
  return reader;
}

}  // namespace sluice::planner
