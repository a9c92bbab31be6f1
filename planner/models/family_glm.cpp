// GLM: half of each head turns; pairs side by side and fused gates in the dense families.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
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
  const std::int64_t dense = integer_or(config, "first_k_dense_replace", 1);
  std::vector<LayerKind> layers(static_cast<std::size_t>(shape.layers));
  for (std::int64_t layer = 0; layer < std::min(dense, shape.layers); ++layer) {
    layers[static_cast<std::size_t>(layer)].dense_intermediate = shape.intermediate;
  }
  set_layers(shape, layers);
  Experts experts;
  experts.count = integer_or(config, "n_routed_experts", 128);
  experts.active = integer_or(config, "num_experts_per_tok", 8);
  experts.intermediate = integer_or(config, "moe_intermediate_size", 1408);
  experts.normalized = boolean_or(config, "norm_topk_prob", true);
  experts.score = RouterScore::sigmoid;
  experts.correction_bias = true;
  experts.groups = integer_or(config, "n_group", 1);
  experts.active_groups = integer_or(config, "topk_group", 1);
  experts.scaling = config.find_number("routed_scaling_factor").value_or(1);
  experts.shared_intermediate = integer_or(config, "n_shared_experts", 1) * experts.intermediate;
  shape.experts = experts;
  shape.names.experts.shared = "mlp.shared_experts";
  shape.intermediate = experts.active * experts.intermediate;
}

void write_glm4_moe(const ModelShape& shape, ordered_json& json) {
  write_glm(shape, json);
  const Experts& experts = *shape.experts;
  json["use_qk_norm"] = shape.head_norm == HeadNorm::per_head;
  std::int64_t dense = 0;
  for (std::size_t kind = 0; kind < shape.kinds.size(); ++kind) {
    const auto width = shape.kinds[kind].dense_intermediate;
    if (!width) continue;
    dense += layers_of_kind(shape, kind);
    json["intermediate_size"] = *width;
  }
  json["first_k_dense_replace"] = dense;
  json["n_routed_experts"] = experts.count;
  json["num_experts_per_tok"] = experts.active;
  json["moe_intermediate_size"] = experts.intermediate;
  json["norm_topk_prob"] = experts.normalized;
  json["n_group"] = experts.groups;
  json["topk_group"] = experts.active_groups;
  json["routed_scaling_factor"] = experts.scaling;
  json["n_shared_experts"] = experts.shared_intermediate / experts.intermediate;
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
