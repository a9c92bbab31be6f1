// Mistral's families: windows of all layers or of some, experts, queries that grow.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

void read_mistral(const JsonObject& config, ModelShape& shape) {
  const auto window = window_size(config, shape);
  require_layer_types(config, shape, window);
  shape.kinds.front().window = window;
  read_rope(config, shape);
}

void write_mistral(const ModelShape& shape, ordered_json& json) {
  json["sliding_window"] = window_json(shape);
}

void read_mixtral(const JsonObject& config, ModelShape& shape) {
  const FamilyDefaults& defaults = family_defaults(shape.family);
  shape.names.experts = kMixtralExperts;
  shape.experts =
      Experts{.count = expert_count(config, defaults.num_experts),
              .active = integer_or(config, "num_experts_per_tok", defaults.num_experts_per_tok),
              .intermediate = shape.intermediate};
  shape.intermediate = shape.experts->active * shape.experts->intermediate;
  require_only(config, "router_jitter_noise", 0,
               "only 0 is supported: the router sees tokens as they are");
  read_mistral(config, shape);
}

void write_mixtral(const ModelShape& shape, ordered_json& json) {
  write_mistral(shape, json);
  json["num_local_experts"] = shape.experts->count;
  json["num_experts_per_tok"] = shape.experts->active;
  json["intermediate_size"] = shape.experts->intermediate;
}

void read_ministral(const JsonObject& config, ModelShape& shape) {
  const auto window = window_size(config, shape);
  std::vector<LayerKind> layers;
  for (const bool sliding :
       sliding_layers(config, shape, [&](std::int64_t) { return window.has_value(); })) {
    if (sliding && !window) {
      config.fail("layer_types", "says sliding_attention, which needs a sliding_window");
    }
    layers.push_back({.window = sliding ? window : std::nullopt});
  }
  set_layers(shape, layers);
  read_rope(config, shape);
}

void write_ministral(const ModelShape& shape, ordered_json& json) {
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
}

/// Queries grow with the logarithm of how often the original positions fit in theirs.
void read_ministral3(const JsonObject& config, ModelShape& shape) {
  if (!config.has("rope_scaling")) {
    refuse_theta_alone(config, shape,
                       "is passed over by transformers: put it into rope_parameters");
  }
  read_mistral(config, shape);
  const auto rope = config.find_object("rope_parameters");
  const RopeScaling& scaling = shape.rotary.front().scaling;
  const bool stated = rope || config.has("rope_scaling");
  const double growth = rope ? rope->find_number(kQueryGrowth).value_or(0) : stated ? 0.0 : 0.1;
  if (growth == 0) return;
  if (scaling.original_max_positions < 1) {
    rope->fail(kQueryGrowth, "needs original_max_position_embeddings, from which on queries grow");
  }
  shape.scales.query_growth = growth;
  shape.scales.query_growth_from = scaling.original_max_positions;
}

void write_ministral3(const ModelShape& shape, ordered_json& json) {
  write_mistral(shape, json);
  // The growth is read from here alone.
  json["rope_parameters"] = rope_parameters_json(shape);
  json.erase("rope_scaling");
  json.erase("rope_theta");
}

}  // namespace

const FamilyReader& mistral_reader() {
  static const FamilyReader reader{Family::mistral,
                                   "MistralForCausalLM",
                                   {.intermediate_size = 14336,
                                    .num_key_value_heads = 8,
                                    .max_position_embeddings = 131072,
                                    .sliding_window = 4096},
                                   read_mistral,
                                   write_mistral};
  return reader;
}

const FamilyReader& mixtral_reader() {
  static const FamilyReader reader{Family::mixtral,
                                   "MixtralForCausalLM",
                                   {.intermediate_size = 14336,
                                    .num_key_value_heads = 8,
                                    .max_position_embeddings = 131072,
                                    .rms_norm_eps = 1e-5,
                                    .rope_theta = 1e6,
                                    .num_experts = 8,
                                    .num_experts_per_tok = 2},
                                   read_mixtral,
                                   write_mixtral};
  return reader;
}

const FamilyReader& ministral_reader() {
  static const FamilyReader reader{{"ministral"},
                                   "MinistralForCausalLM",
                                   {.intermediate_size = 14336,
                                    .num_key_value_heads = 8,
                                    .max_position_embeddings = 131072,
                                    .sliding_window = 4096},
                                   read_ministral,
                                   write_ministral};
  return reader;
}

const FamilyReader& ministral3_reader() {
  static const FamilyReader reader{{"ministral3"},
                                   "Ministral3ForCausalLM",
                                   {.vocab_size = 131072,
                                    .intermediate_size = 14336,
                                    .num_hidden_layers = 34,
                                    .num_key_value_heads = 8,
                                    .head_dim = 128,
                                    .max_position_embeddings = 262144,
                                    .rms_norm_eps = 1e-5,
                                    .rope_theta = 1e6,
                                    .rope_scaling = {.kind = RopeScaling::Kind::yarn,
                                                     .factor = 16,
                                                     .original_max_positions = 16384}},
                                   read_ministral3,
                                   write_ministral3};
  return reader;
}

}  // namespace sluice::planner
