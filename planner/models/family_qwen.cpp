// Qwen's families: biases of q, k and v or norms of q and k, windows where they are used, experts.
#include "planner/models/family_qwen.hpp"

#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

/// Gives layers their windows, and all of them the one rotary table.
void read_layers(const JsonObject& config, ModelShape& shape, const std::vector<bool>& sliding) {
  const auto window = window_size(config, shape);
  std::vector<LayerKind> layers;
  layers.reserve(sliding.size());
  for (const bool slides : sliding) layers.push_back({.window = slides ? window : std::nullopt});
  set_layers(shape, layers);
  read_rope(config, shape);
}

void read_qwen2(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = true;
  read_layers(config, shape, qwen_windows(config, shape));
}

void read_qwen3(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.head_norm = HeadNorm::per_head;
  read_layers(config, shape, qwen_windows(config, shape));
}

void write_windows(const ModelShape& shape, ordered_json& json) {
  const ordered_json window = window_json(shape);
  json["sliding_window"] = window;
  json["use_sliding_window"] = !window.is_null();
  // Versions of transformers read either the list of layers or the number of those without one.
  std::int64_t first = 0;
  while (first < shape.layers && !layer_kind(shape, first).window) ++first;
  json["max_window_layers"] = first;
  if (shape.kinds.size() > 1) json["layer_types"] = layer_types_json(shape);
}

void write_qwen3(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
  write_windows(shape, json);
}

/// Layers with a dense MLP: those that mlp_only_layers names, and those that are no multiple of
/// decoder_sparse_step.
std::vector<bool> dense_layers(const JsonObject& config, const ModelShape& shape) {
  const std::int64_t step = integer_or(config, "decoder_sparse_step", 1);
  if (step < 1) config.fail("decoder_sparse_step", "must be at least 1");
  std::vector<bool> dense;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    dense.push_back((layer + 1) % step != 0);
  }
  if (!config.has("mlp_only_layers") || !config.value("mlp_only_layers").is_list()) return dense;
  for (const double layer : config.numbers("mlp_only_layers")) {
    if (layer >= 0 && layer < static_cast<double>(shape.layers)) {
      dense[static_cast<std::size_t>(layer)] = true;
    }
  }
  return dense;
}

void read_qwen3_moe(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.head_norm = HeadNorm::per_head;
  const auto window = qwen_moe_window(config, shape);
  require_layer_types(config, shape, window);
  shape.kinds.front().window = window;
  read_rope(config, shape);
  read_qwen_experts(config, shape, false);
}

void write_qwen3_moe(const ModelShape& shape, ordered_json& json) {
  write_qwen3(shape, json);
  write_qwen_experts(shape, json);
}

void read_qwen2_moe(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = boolean_or(config, "qkv_bias", true);
  if (boolean_or(config, "use_sliding_window", false)) {
    config.fail("use_sliding_window",
                "versions of transformers differ on it for qwen2_moe: set it to false");
  }
  read_rope(config, shape);
  read_qwen_experts(config, shape, false);
  shape.experts->shared_intermediate = integer_or(config, "shared_expert_intermediate_size", 5632);
  shape.experts->shared_gate = true;
}

void write_qwen2_moe(const ModelShape& shape, ordered_json& json) {
  json["qkv_bias"] = shape.qkv_bias;
  write_windows(shape, json);
  write_qwen_experts(shape, json);
  json["shared_expert_intermediate_size"] = shape.experts->shared_intermediate;
}

}  // namespace

void read_qwen_experts(const JsonObject& config, ModelShape& shape, bool normalized) {
  const FamilyDefaults& defaults = family_defaults(shape.family);
  const std::vector<bool> dense = dense_layers(config, shape);
  std::vector<LayerKind> layers;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    layers.push_back(layer_kind(shape, layer));
    if (dense[static_cast<std::size_t>(layer)]) {
      layers.back().dense_intermediate = shape.intermediate;
    }
  }
  set_layers(shape, layers);
  Experts experts;
  experts.count = expert_count(config, defaults.num_experts);
  experts.active = integer_or(config, "num_experts_per_tok", defaults.num_experts_per_tok);
  experts.intermediate =
      integer_or(config, "moe_intermediate_size", defaults.moe_intermediate_size);
  experts.normalized = boolean_or(config, "norm_topk_prob", normalized);
  require_only(config, "router_jitter_noise", 0,
               "only 0 is supported: the router sees tokens as they are");
  shape.experts = experts;
  shape.intermediate = experts.active * experts.intermediate;
}

void write_qwen_experts(const ModelShape& shape, ordered_json& json) {
  json["num_experts"] = shape.experts->count;
  json["num_experts_per_tok"] = shape.experts->active;
  json["moe_intermediate_size"] = shape.experts->intermediate;
  json["norm_topk_prob"] = shape.experts->normalized;
  ordered_json dense = ordered_json::array();
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto width = layer_kind(shape, layer).dense_intermediate;
    if (!width) continue;
    dense.push_back(layer);
    json["intermediate_size"] = *width;
  }
  if (!dense.empty()) json["mlp_only_layers"] = std::move(dense);
}

const FamilyReader& qwen2_reader() {
  static const FamilyReader reader{Family::qwen2,
                                   "Qwen2ForCausalLM",
                                   {.vocab_size = 151936,
                                    .intermediate_size = 22016,
                                    .num_key_value_heads = 32,
                                    .max_position_embeddings = 32768,
                                    .sliding_window = 4096},
                                   read_qwen2,
                                   write_windows};
  return reader;
}

const FamilyReader& qwen3_reader() {
  static const FamilyReader reader{Family::qwen3,
                                   "Qwen3ForCausalLM",
                                   {.vocab_size = 151936,
                                    .intermediate_size = 22016,
                                    .num_key_value_heads = 32,
                                    .head_dim = 128,
                                    .max_position_embeddings = 32768,
                                    .sliding_window = 4096},
                                   read_qwen3,
                                   write_qwen3};
  return reader;
}

/// Qwen3MoeConfig has no head_dim: its attention divides hidden_size.
const FamilyReader& qwen3_moe_reader() {
  static const FamilyReader reader{Family::qwen3_moe,
                                   "Qwen3MoeForCausalLM",
                                   {.vocab_size = 151936,
                                    .hidden_size = 2048,
                                    .intermediate_size = 6144,
                                    .num_hidden_layers = 24,
                                    .num_key_value_heads = 4,
                                    .null_key_value_heads = false,
                                    .max_position_embeddings = 32768,
                                    .sliding_window = 4096,
                                    .num_experts = 128,
                                    .num_experts_per_tok = 8,
                                    .moe_intermediate_size = 768},
                                   read_qwen3_moe,
                                   write_qwen3_moe};
  return reader;
}

const FamilyReader& qwen2_moe_reader() {
  static const FamilyReader reader{{"qwen2_moe"},
                                   "Qwen2MoeForCausalLM",
                                   {.vocab_size = 151936,
                                    .hidden_size = 2048,
                                    .intermediate_size = 5632,
                                    .num_hidden_layers = 24,
                                    .num_attention_heads = 16,
                                    .num_key_value_heads = 16,
                                    .null_key_value_heads = false,
                                    .max_position_embeddings = 32768,
                                    .sliding_window = 4096,
                                    .num_experts = 60,
                                    .num_experts_per_tok = 4,
                                    .moe_intermediate_size = 1408},
                                   read_qwen2_moe,
                                   write_qwen2_moe};
  return reader;
}

}  // namespace sluice::planner
