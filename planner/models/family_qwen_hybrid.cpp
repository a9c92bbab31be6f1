// Qwen3-Next and Qwen3.5: three gated delta nets for each layer of gated attention.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_qwen.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

constexpr const char* kLinearLayer = "linear_attention";
constexpr const char* kAttentionLayer = "full_attention";
constexpr const char* kInterval = "full_attention_interval";

/// Whether each layer is a gated delta net: as layer_types says, else all but every fourth.
std::vector<bool> linear_layers(const JsonObject& config, const ModelShape& shape) {
  std::vector<bool> linear;
  if (!config.has("layer_types")) {
    const std::int64_t interval = integer_or(config, kInterval, 4);
    if (interval < 1) config.fail(kInterval, "must be at least 1");
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      linear.push_back((layer + 1) % interval != 0);
    }
    return linear;
  }
  for (const std::string& type : config.texts("layer_types")) {
    if (type != kLinearLayer && type != kAttentionLayer) {
      config.fail("layer_types", "only linear_attention and full_attention are supported");
    }
    linear.push_back(type == kLinearLayer);
  }
  if (std::ssize(linear) != shape.layers) {
    config.fail("layer_types", "names " + std::to_string(linear.size()) +
                                   " layers, and num_hidden_layers is " +
                                   std::to_string(shape.layers));
  }
  return linear;
}

/// Reads what all hybrids have: both kinds of layers, and norms times 1 + weight.
void read_hybrid(const JsonObject& config, ModelShape& shape) {
  shape.norms.one_plus_weight = true;
  shape.head_norm = HeadNorm::per_head;
  shape.attention_gate = true;
  if (boolean_or(config, "attention_bias", false)) {
    config.fail("attention_bias", "is not supported in this family: set it to false");
  }
  require_only(config, "linear_conv_kernel_dim", kDeltaTaps,
               "only 4 is supported: the convolution sees four tokens");
  shape.delta_net = DeltaNet{.key_heads = integer_or(config, "linear_num_key_heads", 16),
                             .value_heads = integer_or(config, "linear_num_value_heads", 32),
                             .key_dim = integer_or(config, "linear_key_head_dim", 128),
                             .value_dim = integer_or(config, "linear_value_head_dim", 128)};
  std::vector<LayerKind> layers;
  for (const bool linear : linear_layers(config, shape)) {
    layers.push_back(linear ? LayerKind{.rotary = std::nullopt, .mixer = Mixer::gated_delta_net}
                            : LayerKind{});
  }
  set_layers(shape, layers);
  read_rope(config, shape);
}

void write_hybrid(const ModelShape& shape, ordered_json& json) {
  const DeltaNet& net = *shape.delta_net;
  json["linear_num_key_heads"] = net.key_heads;
  json["linear_num_value_heads"] = net.value_heads;
  json["linear_key_head_dim"] = net.key_dim;
  json["linear_value_head_dim"] = net.value_dim;
  json["linear_conv_kernel_dim"] = kDeltaTaps;
  const std::int64_t rotated = shape.rotary.front().rotated.value_or(shape.head_dim);
  json["partial_rotary_factor"] =
      static_cast<double>(rotated) / static_cast<double>(shape.head_dim);
  ordered_json types = ordered_json::array();
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    types.push_back(is_linear(layer_kind(shape, layer)) ? kLinearLayer : kAttentionLayer);
  }
  json["layer_types"] = std::move(types);
}

/// Reads experts, one of which all tokens pass through with a factor of their own.
void read_shared(const JsonObject& config, ModelShape& shape) {
  read_qwen_experts(config, shape, true);
  shape.experts->shared_intermediate = integer_or(config, "shared_expert_intermediate_size", 512);
  shape.experts->shared_gate = true;
}

void write_shared(const ModelShape& shape, ordered_json& json) {
  write_hybrid(shape, json);
  write_qwen_experts(shape, json);
  json["shared_expert_intermediate_size"] = shape.experts->shared_intermediate;
}

void read_qwen3_next(const JsonObject& config, ModelShape& shape) {
  read_hybrid(config, shape);
  shape.names.fused_delta = "linear_attn.in_proj_qkvz";
  shape.names.fused_delta_rates = "linear_attn.in_proj_ba";
  read_shared(config, shape);
}

/// The class knows no dense layers, and its router's weights always add up to 1.
void read_qwen3_5_moe(const JsonObject& config, ModelShape& shape) {
  read_hybrid(config, shape);
  read_shared(config, shape);
  shape.experts->normalized = true;
}

FamilyDefaults hybrid_defaults() {
  return {.vocab_size = 248320,
          .intermediate_size = 12288,
          .num_attention_heads = 16,
          .num_key_value_heads = 4,
          .null_key_value_heads = false,
          .head_dim = 256,
          .max_position_embeddings = 32768,
          .partial_rotary_factor = 0.25};
}

FamilyDefaults expert_defaults() {
  FamilyDefaults defaults = hybrid_defaults();
  defaults.hidden_size = 2048;
  defaults.intermediate_size = 5632;
  defaults.num_hidden_layers = 40;
  defaults.num_key_value_heads = 2;
  defaults.num_experts = 256;
  defaults.num_experts_per_tok = 8;
  defaults.moe_intermediate_size = 512;
  return defaults;
}

FamilyDefaults next_defaults() {
  FamilyDefaults defaults = expert_defaults();
  defaults.vocab_size = 151936;
  defaults.num_hidden_layers = 48;
  defaults.num_experts = 512;
  defaults.num_experts_per_tok = 10;
  return defaults;
}

}  // namespace

const FamilyReader& qwen3_next_reader() {
  static const FamilyReader reader{
      {"qwen3_next"}, "Qwen3NextForCausalLM", next_defaults(), read_qwen3_next, write_shared};
  return reader;
}

const FamilyReader& qwen3_5_reader() {
  static const FamilyReader reader{
      {"qwen3_5_text"}, "Qwen3_5ForCausalLM", hybrid_defaults(), read_hybrid, write_hybrid};
  return reader;
}

const FamilyReader& qwen3_5_moe_reader() {
  static const FamilyReader reader{{"qwen3_5_moe_text"},
                                   "Qwen3_5MoeForCausalLM",
                                   expert_defaults(),
                                   read_qwen3_5_moe,
                                   write_shared};
  return reader;
}

}  // namespace sluice::planner
