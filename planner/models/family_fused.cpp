// Phi-3 and Phi-4, whose checkpoints fuse projections; Granite, which scales; gpt-oss, whose
// experts are stacked; MiniMax M2, which chooses experts by biased sigmoids.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

constexpr const char* kOriginalPositions = "original_max_position_embeddings";

void read_phi3(const JsonObject& config, ModelShape& shape) {
  shape.names.fused_qkv = "self_attn.qkv_proj";
  shape.names.fused_gate_up = "mlp.gate_up_proj";
  const auto window = window_size(config, shape);
  require_layer_types(config, shape, window);
  shape.kinds.front().window = window;
  read_rope(config, shape);
}

void write_phi3(const ModelShape& shape, ordered_json& json) {
  const RotaryTable& table = shape.rotary.front();
  json["sliding_window"] = window_json(shape);
  if (table.rotated) {
    json["partial_rotary_factor"] =
        static_cast<double>(*table.rotated) / static_cast<double>(shape.head_dim);
  }
  if (table.scaling.kind == RopeScaling::Kind::longrope) {
    json[kOriginalPositions] = table.scaling.original_max_positions;
  }
}

void read_granite(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.mlp_bias = boolean_or(config, "mlp_bias", false);
  const auto factor = [&config](const char* key) { return config.find_number(key).value_or(1); };
  shape.scales.embedding = factor("embedding_multiplier");
  shape.scales.attention = factor("attention_multiplier");
  shape.scales.residual = factor("residual_multiplier");
  const double divisor = factor("logits_scaling");
  if (divisor == 0) config.fail("logits_scaling", "divides the logits and must not be 0");
  shape.scales.logits = 1 / divisor;
  read_rope(config, shape);
}

void write_granite(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
  json["mlp_bias"] = shape.mlp_bias;
  json["embedding_multiplier"] = shape.scales.embedding;
  json["attention_multiplier"] = attention_scale(shape);
  json["residual_multiplier"] = shape.scales.residual;
  json["logits_scaling"] = 1 / shape.scales.logits;
}

/// Every other layer has a window, from the first on.
void read_gpt_oss(const JsonObject& config, ModelShape& shape) {
  const FamilyDefaults& defaults = family_defaults(shape.family);
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", true);
  shape.mlp_bias = shape.attention_sinks = true;
  shape.activation = Activation::clamped_swiglu;
  shape.names.experts.router = "mlp.router";
  shape.names.experts.stacked = true;
  require_only(config, "swiglu_alpha", 1.702, "only 1.702 is supported");
  require_only(config, "swiglu_limit", 7, "only 7 is supported");
  shape.experts =
      Experts{.count = expert_count(config, defaults.num_experts),
              .active = integer_or(config, "num_experts_per_tok", defaults.num_experts_per_tok),
              .intermediate = shape.intermediate,
              .router_bias = true};
  shape.intermediate = shape.experts->active * shape.experts->intermediate;
  const auto window = window_size(config, shape);
  std::vector<LayerKind> layers;
  for (const bool slides :
       sliding_layers(config, shape, [](std::int64_t layer) { return layer % 2 == 0; })) {
    layers.push_back({.window = slides ? window : std::nullopt});
  }
  set_layers(shape, layers);
  shape.rotary = {rotary_of(config, shape, {})};
}

void write_gpt_oss(const ModelShape& shape, ordered_json& json) {
  // Where none is stated, yarn is meant.
  if (json["rope_scaling"].is_null()) json["rope_scaling"] = {{"rope_type", "default"}};
  json["attention_bias"] = shape.o_bias;
  json["num_local_experts"] = shape.experts->count;
  json["num_experts_per_tok"] = shape.experts->active;
  json["intermediate_size"] = shape.experts->intermediate;
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
}

/// Released checkpoints state the elements that turn as rotary_dim.
void read_minimax_m2(const JsonObject& config, ModelShape& shape) {
  const FamilyDefaults& defaults = family_defaults(shape.family);
  shape.head_norm = HeadNorm::full_width;
  shape.names.experts = kMixtralExperts;
  shape.experts =
      Experts{.count = expert_count(config, defaults.num_experts),
              .active = integer_or(config, "num_experts_per_tok", defaults.num_experts_per_tok),
              .intermediate = shape.intermediate,
              .score = RouterScore::sigmoid,
              .correction_bias = true};
  shape.intermediate = shape.experts->active * shape.experts->intermediate;
  require_only(config, "router_jitter_noise", 0,
               "only 0 is supported: the router sees tokens as they are");
  read_rope(config, shape);
  const auto rotated = config.find_integer("rotary_dim");
  if (rotated && !config.has("partial_rotary_factor") && *rotated != shape.head_dim) {
    shape.rotary.front().rotated = *rotated;
  }
}

void write_minimax_m2(const ModelShape& shape, ordered_json& json) {
  json["num_local_experts"] = shape.experts->count;
  json["num_experts_per_tok"] = shape.experts->active;
  json["intermediate_size"] = shape.experts->intermediate;
  json["rotary_dim"] = shape.rotary.front().rotated.value_or(shape.head_dim);
}

}  // namespace

const FamilyReader& phi3_reader() {
  static const FamilyReader reader{{"phi3"},
                                   "Phi3ForCausalLM",
                                   {.vocab_size = 32064,
                                    .hidden_size = 3072,
                                    .intermediate_size = 8192,
                                    .max_position_embeddings = 4096,
                                    .rms_norm_eps = 1e-5,
                                    .partial_rotary_factor = 1},
                                   read_phi3,
                                   write_phi3};
  return reader;
}

const FamilyReader& granite_reader() {
  static const FamilyReader reader{
      {"granite"}, "GraniteForCausalLM", {}, read_granite, write_granite};
  return reader;
}

const FamilyReader& gpt_oss_reader() {
  static const FamilyReader reader{Family::gpt_oss,
                                   "GptOssForCausalLM",
                                   {.vocab_size = 201088,
                                    .hidden_size = 2880,
                                    .intermediate_size = 2880,
                                    .num_hidden_layers = 36,
                                    .num_attention_heads = 64,
                                    .num_key_value_heads = 8,
                                    .head_dim = 64,
                                    .max_position_embeddings = 131072,
                                    .rms_norm_eps = 1e-5,
                                    .rope_theta = 150000,
                                    .rope_scaling = {.kind = RopeScaling::Kind::yarn,
                                                     .factor = 32,
                                                     .original_max_positions = 4096,
                                                     .truncate = false,
                                                     .attention_factor = yarn_magnitude(32, 1)},
                                    .sliding_window = 128,
                                    .num_experts = 128,
                                    .num_experts_per_tok = 4},
                                   read_gpt_oss,
                                   write_gpt_oss};
  return reader;
}

const FamilyReader& minimax_m2_reader() {
  static const FamilyReader reader{{"minimax_m2"},
                                   "MiniMaxM2ForCausalLM",
                                   {.vocab_size = 200064,
                                    .hidden_size = 3072,
                                    .intermediate_size = 1536,
                                    .num_hidden_layers = 62,
                                    .num_attention_heads = 48,
                                    .num_key_value_heads = 8,
                                    .null_key_value_heads = false,
                                    .head_dim = 128,
                                    .max_position_embeddings = 196608,
                                    .rope_theta = 5e6,
                                    .partial_rotary_factor = 1,
                                    .num_experts = 256,
                                    .num_experts_per_tok = 8},
                                   read_minimax_m2,
                                   write_minimax_m2};
  return reader;
}

}  // namespace sluice::planner
