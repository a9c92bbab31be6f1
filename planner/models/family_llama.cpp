// Families that are llama with another default, activation, order of pairs or kind of layer.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

void read_llama(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.mlp_bias = boolean_or(config, "mlp_bias", false);
  require_layer_types(config, shape, std::nullopt);
  read_rope(config, shape);
}

void write_llama(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
  json["mlp_bias"] = shape.mlp_bias;
}

void read_seed_oss(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = boolean_or(config, "attention_bias", true);
  shape.o_bias = boolean_or(config, "attention_out_bias", false);
  shape.mlp_bias = boolean_or(config, "mlp_bias", false);
  read_rope(config, shape);
}

void write_seed_oss(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.qkv_bias;
  json["attention_out_bias"] = shape.o_bias;
  json["mlp_bias"] = shape.mlp_bias;
  json["attention_dropout"] = json["residual_dropout"] = 0;
}

void read_ernie4_5(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = shape.mlp_bias = boolean_or(config, "use_bias", false);
  read_rope(config, shape);
}

void write_ernie4_5(const ModelShape& shape, ordered_json& json) {
  json["use_bias"] = shape.o_bias;
}

void read_helium(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = boolean_or(config, "attention_bias", false);
  shape.mlp_bias = boolean_or(config, "mlp_bias", false);
  if (shape.heads * shape.head_dim != shape.hidden) {
    config.fail("head_dim", "times num_attention_heads must be hidden_size in this family");
  }
  read_rope(config, shape);
}

void write_helium(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.qkv_bias;
  json["mlp_bias"] = shape.mlp_bias;
}

/// Every fourth layer has no positions, unless no_rope_layers says otherwise (1 for a layer that
/// has them); windows, where they are used, are those of the layers without.
void read_smollm3(const JsonObject& config, ModelShape& shape) {
  read_llama(config, shape);
  const std::int64_t interval = integer_or(config, "no_rope_layer_interval", 4);
  if (interval < 1) config.fail("no_rope_layer_interval", "must be at least 1");
  std::vector<double> rotary;
  if (config.has("no_rope_layers")) {
    rotary = config.numbers("no_rope_layers");
    if (std::ssize(rotary) < shape.layers) {
      config.fail("no_rope_layers", "names " + std::to_string(rotary.size()) +
                                        " layers, and num_hidden_layers is " +
                                        std::to_string(shape.layers));
    }
  } else {
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      rotary.push_back((layer + 1) % interval != 0 ? 1 : 0);
    }
  }
  if (boolean_or(config, "use_sliding_window", false) && config.has("sliding_window")) {
    config.fail("use_sliding_window", "is not supported for smollm3: set it to false");
  }
  std::vector<LayerKind> layers(static_cast<std::size_t>(shape.layers));
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    if (rotary[layer] == 0) layers[layer].rotary.reset();
  }
  set_layers(shape, layers);
}

void write_smollm3(const ModelShape& shape, ordered_json& json) {
  write_llama(shape, json);
  json["no_rope_layers"] = ordered_json::array();
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    json["no_rope_layers"].push_back(layer_kind(shape, layer).rotary ? 1 : 0);
  }
}

/// Every fourth layer, from the first on, attends to everything, the others to a window.
void read_cwm(const JsonObject& config, ModelShape& shape) {
  shape.mlp_bias = boolean_or(config, "mlp_bias", false);
  const auto window = window_size(config, shape);
  std::vector<LayerKind> layers;
  for (const bool sliding :
       sliding_layers(config, shape, [](std::int64_t layer) { return layer % 4 != 0; })) {
    layers.push_back({.window = sliding ? window : std::nullopt});
  }
  set_layers(shape, layers);
  if (!config.has("rope_scaling")) {
    refuse_theta_alone(config, shape,
                       "is passed over by transformers: put it into rope_parameters");
  }
  shape.rotary = {rotary_of(config, shape, {})};
}

void write_cwm(const ModelShape& shape, ordered_json& json) {
  json["mlp_bias"] = shape.mlp_bias;
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
}

}  // namespace

const FamilyReader& llama_reader() {
  static const FamilyReader reader{Family::llama, "LlamaForCausalLM", {}, read_llama, write_llama};
  return reader;
}

const FamilyReader& arcee_reader() {
  static const FamilyReader reader{{"arcee"},
                                   "ArceeForCausalLM",
                                   {.hidden_size = 2560,
                                    .intermediate_size = 18432,
                                    .activation = "relu2",
                                    .max_position_embeddings = 4096,
                                    .rms_norm_eps = 1e-5},
                                   read_llama,
                                   write_llama};
  return reader;
}

const FamilyReader& seed_oss_reader() {
  static const FamilyReader reader{{"seed_oss"},
                                   "SeedOssForCausalLM",
                                   {.vocab_size = 155136,
                                    .intermediate_size = 27648,
                                    .num_hidden_layers = 64,
                                    .num_attention_heads = 80,
                                    .num_key_value_heads = 8,
                                    .head_dim = 128,
                                    .max_position_embeddings = 524288,
                                    .dropout = 0.1},
                                   read_seed_oss,
                                   write_seed_oss};
  return reader;
}

const FamilyReader& ernie4_5_reader() {
  static const FamilyReader reader{{"ernie4_5"},
                                   "Ernie4_5ForCausalLM",
                                   {.vocab_size = 103424,
                                    .hidden_size = 1024,
                                    .intermediate_size = 3072,
                                    .num_hidden_layers = 18,
                                    .num_attention_heads = 16,
                                    .num_key_value_heads = 2,
                                    .head_dim = 128,
                                    .max_position_embeddings = 131072,
                                    .rms_norm_eps = 1e-5,
                                    .tie_word_embeddings = true,
                                    .rope_theta = 500000,
                                    .interleaved_rotary = true},
                                   read_ernie4_5,
                                   write_ernie4_5};
  return reader;
}

const FamilyReader& helium_reader() {
  static const FamilyReader reader{{"helium"},
                                   "HeliumForCausalLM",
                                   {.vocab_size = 48000,
                                    .hidden_size = 2560,
                                    .intermediate_size = 7040,
                                    .num_hidden_layers = 24,
                                    .num_attention_heads = 20,
                                    .num_key_value_heads = 20,
                                    .head_dim = 128,
                                    .max_position_embeddings = 4096,
                                    .rms_norm_eps = 1e-8,
                                    .rope_theta = 100000,
                                    .interleaved_rotary = true},
                                   read_helium,
                                   write_helium};
  return reader;
}

const FamilyReader& smollm3_reader() {
  static const FamilyReader reader{{"smollm3"},
                                   "SmolLM3ForCausalLM",
                                   {.vocab_size = 128256,
                                    .hidden_size = 2048,
                                    .num_hidden_layers = 36,
                                    .num_attention_heads = 16,
                                    .num_key_value_heads = 4,
                                    .max_position_embeddings = 32768,
                                    .tie_word_embeddings = true,
                                    .rope_theta = 2000000},
                                   read_smollm3,
                                   write_smollm3};
  return reader;
}

const FamilyReader& cwm_reader() {
  static const FamilyReader reader{{"cwm"},
                                   "CwmForCausalLM",
                                   {.vocab_size = 128256,
                                    .hidden_size = 6144,
                                    .intermediate_size = 21504,
                                    .num_hidden_layers = 64,
                                    .num_attention_heads = 48,
                                    .num_key_value_heads = 8,
                                    .head_dim = 128,
                                    .max_position_embeddings = 131072,
                                    .rms_norm_eps = 1e-5,
                                    .rope_theta = 1e6,
                                    .rope_scaling = {.kind = RopeScaling::Kind::llama3,
                                                     .factor = 16,
                                                     .original_max_positions = 8192},
                                    .sliding_window = 8192},
                                   read_cwm,
                                   write_cwm};
  return reader;
}

}  // namespace sluice::planner
