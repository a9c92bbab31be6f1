// Google's Gemma 1 to 3: norms times 1 + weight, a scaled embedding, gelu, windows that alternate.
#include "planner/models/family_gemma.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

/// Reads what all three have.
void read_common(const JsonObject& config, ModelShape& shape) {
  read_gemma_embedding(config, shape);
  shape.norms.one_plus_weight = true;
  if (boolean_or(config, "use_bidirectional_attention", false)) {
    config.fail("use_bidirectional_attention", "is not supported: tokens see those before them");
  }
}

void write_common(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
}

void read_gemma(const JsonObject& config, ModelShape& shape) {
  read_common(config, shape);
  read_rope(config, shape);
}

/// Reads norms around both sublayers, and bounds of scores and logits.
void read_sandwich(const JsonObject& config, ModelShape& shape, std::optional<double> score_bound,
                   std::optional<double> logit_bound) {
  read_common(config, shape);
  add_gemma_norms(shape);
  const double scalar = config.find_number("query_pre_attn_scalar").value_or(256);
  if (!(scalar > 0)) config.fail("query_pre_attn_scalar", "must be a positive number");
  shape.scales.attention = 1 / std::sqrt(scalar);
  const auto bound = [&config](const char* key, std::optional<double> usual) {
    return config.json().contains(key) ? config.find_number(key) : usual;
  };
  shape.scales.attention_softcap = bound("attn_logit_softcapping", score_bound);
  shape.scales.logits_softcap = bound("final_logit_softcapping", logit_bound);
}

void write_sandwich(const ModelShape& shape, ordered_json& json) {
  write_common(shape, json);
  const auto bound = [](std::optional<double> value) {
    return value ? ordered_json(*value) : ordered_json();
  };
  const double scale = attention_scale(shape);
  const double scalar = std::round(1 / (scale * scale));
  json["query_pre_attn_scalar"] = static_cast<std::int64_t>(scalar);
  json["attn_logit_softcapping"] = bound(shape.scales.attention_softcap);
  json["final_logit_softcapping"] = bound(shape.scales.logits_softcap);
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
}

/// Reads windows of `sliding` layers; the full ones use the table number `full`.
void read_windows(const JsonObject& config, ModelShape& shape, const std::vector<bool>& sliding,
                  std::size_t full) {
  const auto window = window_size(config, shape);
  std::vector<LayerKind> layers;
  for (const bool slides : sliding) {
    if (slides && !window) config.fail("sliding_window", "must be a number: layers have windows");
    layers.push_back(slides ? LayerKind{.window = window} : LayerKind{.rotary = full});
  }
  set_layers(shape, layers);
}

void read_gemma2(const JsonObject& config, ModelShape& shape) {
  read_sandwich(config, shape, 50, 30);
  read_rope(config, shape);
  read_windows(config, shape,
               sliding_layers(config, shape, [](std::int64_t layer) { return layer % 2 == 0; }), 0);
}

constexpr const char* kWindowPattern = "sliding_window_pattern";
constexpr const char* kLocalTheta = "rope_local_base_freq";

/// Every sixth layer attends to everything and has another rotary table than those with windows.
void read_gemma3(const JsonObject& config, ModelShape& shape) {
  read_sandwich(config, shape, std::nullopt, std::nullopt);
  shape.head_norm = HeadNorm::per_head;
  const std::int64_t pattern = integer_or(config, kWindowPattern, 6);
  if (pattern < 1) config.fail(kWindowPattern, "must be at least 1");
  const std::vector<bool> sliding =
      sliding_layers(config, shape, [&](std::int64_t layer) { return (layer + 1) % pattern != 0; });
  read_windows(config, shape, sliding, 1);
  shape.rotary = {rotary_of(config, shape,
                            {.type = "sliding_attention",
                             .theta = kLocalTheta,
                             .scaling = nullptr,
                             .usual_theta = 10000}),
                  rotary_of(config, shape, {})};
}

/// Layers between two full ones, which older versions of transformers read; 0 for no such number.
std::int64_t pattern_of(const ModelShape& shape) {
  for (std::int64_t pattern = 1; pattern <= shape.layers + 1; ++pattern) {
    std::int64_t layer = 0;
    while (layer < shape.layers &&
           layer_kind(shape, layer).window.has_value() == ((layer + 1) % pattern != 0)) {
      ++layer;
    }
    if (layer == shape.layers) return pattern;
  }
  return 0;
}

void write_gemma3(const ModelShape& shape, ordered_json& json) {
  write_sandwich(shape, json);
  json["rope_theta"] = shape.rotary.at(1).theta;
  json["rope_scaling"] = rope_json(shape.rotary.at(1).scaling);
  json[kLocalTheta] = shape.rotary.at(0).theta;
  if (const std::int64_t pattern = pattern_of(shape); pattern > 0) json[kWindowPattern] = pattern;
}

}  // namespace

FamilyDefaults gemma_defaults() {
  return {.hidden_size = 2304,
          .intermediate_size = 9216,
          .num_hidden_layers = 26,
          .num_attention_heads = 8,
          .num_key_value_heads = 4,
          .null_key_value_heads = false,
          .head_dim = 256,
          .activation_key = "hidden_activation",
          .activation = "gelu_pytorch_tanh",
          .tie_word_embeddings = true};
}

void read_gemma_embedding(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.scales.embedding = std::sqrt(static_cast<double>(shape.hidden));
  shape.scales.embedding_rounded = true;
}

void add_gemma_norms(ModelShape& shape) {
  shape.norms.after_attention = shape.norms.after_mlp = true;
  shape.names.norm_before_mlp = "pre_feedforward_layernorm";
}

namespace {

FamilyDefaults gemma2_defaults() {
  FamilyDefaults usual = gemma_defaults();
  usual.vocab_size = 256000;
  usual.max_position_embeddings = 8192;
  usual.sliding_window = 4096;
  return usual;
}

FamilyDefaults gemma3_defaults() {
  FamilyDefaults usual = gemma_defaults();
  usual.vocab_size = 262208;
  usual.max_position_embeddings = 131072;
  usual.rope_theta = 1e6;
  usual.sliding_window = 4096;
  return usual;
}

}  // namespace

const FamilyReader& gemma_reader() {
  static const FamilyReader reader{{"gemma"},
                                   "GemmaForCausalLM",
                                   {.vocab_size = 256000,
                                    .hidden_size = 3072,
                                    .intermediate_size = 24576,
                                    .num_hidden_layers = 28,
                                    .num_attention_heads = 16,
                                    .num_key_value_heads = 16,
                                    .null_key_value_heads = false,
                                    .head_dim = 256,
                                    .activation = "gelu_pytorch_tanh",
                                    .max_position_embeddings = 8192,
                                    .tie_word_embeddings = true},
                                   read_gemma,
                                   write_common};
  return reader;
}

const FamilyReader& gemma2_reader() {
  static const FamilyReader reader{
      {"gemma2"}, "Gemma2ForCausalLM", gemma2_defaults(), read_gemma2, write_sandwich};
  return reader;
}

const FamilyReader& gemma3_reader() {
  static const FamilyReader reader{
      {"gemma3_text"}, "Gemma3ForCausalLM", gemma3_defaults(), read_gemma3, write_gemma3};
  return reader;
}

}  // namespace sluice::planner
