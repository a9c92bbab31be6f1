// OLMo 2 and 3, OLMoE and EXAONE 4: norms behind sublayers, norms of all heads together.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

constexpr NormSlots kNormsBehind{
    .before_attention = false, .after_attention = true, .before_mlp = false, .after_mlp = true};

void read_olmo2(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.norms = kNormsBehind;
  shape.head_norm = HeadNorm::full_width;
  read_rope(config, shape);
}

void write_olmo2(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
}

/// Every fourth layer attends to everything; scaling of RoPE is for those layers alone.
void read_olmo3(const JsonObject& config, ModelShape& shape) {
  read_olmo2(config, shape);
  const auto window = window_size(config, shape);
  std::vector<LayerKind> layers;
  for (const bool slides :
       sliding_layers(config, shape, [](std::int64_t layer) { return (layer + 1) % 4 != 0; })) {
    if (slides && !window) config.fail("sliding_window", "must be a number: layers have windows");
    layers.push_back(slides ? LayerKind{.window = window} : LayerKind{.rotary = 1});
  }
  set_layers(shape, layers);
  shape.rotary = {rotary_of(config, shape, {.type = "sliding_attention", .scaling = nullptr}),
                  rotary_of(config, shape, {})};
}

void write_olmo3(const ModelShape& shape, ordered_json& json) {
  write_olmo2(shape, json);
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
  json["rope_theta"] = shape.rotary.at(1).theta;
  json["rope_scaling"] = rope_json(shape.rotary.at(1).scaling);
  if (shape.rotary.at(0).theta == shape.rotary.at(1).theta) return;
  // Two bases have places in the newer spelling alone.
  json["rope_parameters"] = rope_parameters_json(shape);
  json.erase("rope_theta");
  json.erase("rope_scaling");
}

void read_olmoe(const JsonObject& config, ModelShape& shape) {
  const FamilyDefaults& defaults = family_defaults(shape.family);
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.head_norm = HeadNorm::full_width;
  if (config.has("clip_qkv")) config.fail("clip_qkv", "is not supported: set it to null");
  shape.experts =
      Experts{.count = expert_count(config, defaults.num_experts),
              .active = integer_or(config, "num_experts_per_tok", defaults.num_experts_per_tok),
              .intermediate = shape.intermediate,
              .normalized = boolean_or(config, "norm_topk_prob", false)};
  shape.intermediate = shape.experts->active * shape.experts->intermediate;
  read_rope(config, shape);
}

void write_olmoe(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
  json["num_experts"] = shape.experts->count;
  json["num_experts_per_tok"] = shape.experts->active;
  json["intermediate_size"] = shape.experts->intermediate;
  json["norm_topk_prob"] = shape.experts->normalized;
}

/// Where layers have windows, those that attend to everything have no positions.
void read_exaone4(const JsonObject& config, ModelShape& shape) {
  constexpr const char* kPattern = "sliding_window_pattern";
  shape.norms = kNormsBehind;
  shape.head_norm = HeadNorm::per_head;
  const auto window = window_size(config, shape);
  const bool listed = config.has("layer_types");
  const std::int64_t pattern = window && !listed ? integer_or(config, kPattern, 4) : 4;
  if (pattern < 1) config.fail(kPattern, "must be at least 1");
  std::vector<LayerKind> layers;
  for (const bool slides : sliding_layers(config, shape, [&](std::int64_t layer) {
         return window && (layer + 1) % pattern != 0;
       })) {
    if (slides && !window) config.fail("sliding_window", "must be a number: layers have windows");
    LayerKind kind;
    if (slides) kind.window = window;
    if (window && !slides) kind.rotary.reset();
    layers.push_back(kind);
  }
  set_layers(shape, layers);
  shape.rotary = {rotary_of(config, shape, {.type = "sliding_attention"})};
}

void write_exaone4(const ModelShape& shape, ordered_json& json) {
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
}

}  // namespace

const FamilyReader& olmo2_reader() {
  static const FamilyReader reader{{"olmo2"},
                                   "Olmo2ForCausalLM",
                                   {.vocab_size = 50304, .rms_norm_eps = 1e-5},
                                   read_olmo2,
                                   write_olmo2};
  return reader;
}

const FamilyReader& olmo3_reader() {
  static const FamilyReader reader{
      {"olmo3"},
      "Olmo3ForCausalLM",
      {.vocab_size = 50304, .rms_norm_eps = 1e-5, .rope_theta = 500000, .sliding_window = 4096},
      read_olmo3,
      write_olmo3};
  return reader;
}

const FamilyReader& olmoe_reader() {
  static const FamilyReader reader{{"olmoe"},
                                   "OlmoeForCausalLM",
                                   {.vocab_size = 50304,
                                    .hidden_size = 2048,
                                    .intermediate_size = 2048,
                                    .num_hidden_layers = 16,
                                    .num_attention_heads = 16,
                                    .max_position_embeddings = 4096,
                                    .rms_norm_eps = 1e-5,
                                    .num_experts = 64,
                                    .num_experts_per_tok = 8},
                                   read_olmoe,
                                   write_olmoe};
  return reader;
}

const FamilyReader& exaone4_reader() {
  static const FamilyReader reader{{"exaone4"},
                                   "Exaone4ForCausalLM",
                                   {.vocab_size = 102400,
                                    .intermediate_size = 16384,
                                    .num_key_value_heads = 32,
                                    .null_key_value_heads = false,
                                    .rms_norm_eps = 1e-5,
                                    .sliding_window = 4096},
                                   read_exaone4,
                                   write_exaone4};
  return reader;
}

}  // namespace sluice::planner
