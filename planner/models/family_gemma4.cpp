// Google's Gemma 4, dense: heads of two sizes, values that are keys, proportional rotary tables.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_gemma.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

constexpr const char* kGlobalHead = "global_head_dim";
constexpr const char* kGlobalKeys = "num_global_key_value_heads";

/// Refuses parts of other sizes of the family: experts beside the MLP, inputs of their own for each
/// layer, layers that share keys.
void refuse_others(const JsonObject& config) {
  const auto refuse = [&](const char* key, const char* part) {
    config.fail(key, std::string(part) + " are not supported yet: the dense 12B and 31B are");
  };
  if (boolean_or(config, "enable_moe_block", false)) {
    refuse("enable_moe_block", "experts beside an MLP");
  }
  if (integer_or(config, "hidden_size_per_layer_input", 256) != 0) {
    refuse("hidden_size_per_layer_input", "inputs of each layer");
  }
  if (integer_or(config, "num_kv_shared_layers", 0) != 0) {
    refuse("num_kv_shared_layers", "layers that share keys");
  }
}

/// Tables of layers with windows and of the others, as rope_parameters states them, or the class's.
void read_tables(const JsonObject& config, ModelShape& shape, std::int64_t global_head) {
  RotaryTable local{.theta = 10000}, global{.theta = 1000000};
  double part = 0.25;
  if (const auto given = config.find_object("rope_parameters")) {
    const auto sliding = given->find_object("sliding_attention");
    const auto full = given->find_object("full_attention");
    if (!sliding || !full) {
      config.fail("rope_parameters", "must have sliding_attention and full_attention");
    }
    local.theta = sliding->find_number("rope_theta").value_or(local.theta);
    global.theta = full->find_number("rope_theta").value_or(global.theta);
    part = full->find_number("partial_rotary_factor").value_or(part);
    if (sliding->find_text("rope_type").value_or("default") != "default") {
      sliding->fail("rope_type", "only default is supported here");
    }
    if (full->find_text("rope_type").value_or("proportional") != "proportional") {
      full->fail("rope_type", "only proportional is supported here");
    }
  }
  global.scaling.kind = RopeScaling::Kind::proportional;
  global.rotated = static_cast<std::int64_t>(static_cast<double>(global_head) * part);
  shape.rotary = {local, global};
}

void read_gemma4(const JsonObject& config, ModelShape& shape) {
  refuse_others(config);
  read_gemma_embedding(config, shape);
  add_gemma_norms(shape);
  if (config.has("use_bidirectional_attention") &&
      config.find_text("use_bidirectional_attention") != "vision") {
    config.fail("use_bidirectional_attention", "is not supported: tokens see those before them");
  }
  shape.scales.attention = 1;
  shape.scales.logits_softcap = config.find_number("final_logit_softcapping");
  shape.head_norm = HeadNorm::per_head;
  shape.value_norm = shape.layer_factor = true;
  const std::int64_t global_head = integer_or(config, kGlobalHead, 512);
  const bool keys = boolean_or(config, "attention_k_eq_v", false);
  const auto global_keys = keys ? config.find_integer(kGlobalKeys) : std::nullopt;
  const auto window = window_size(config, shape);
  if (!window) config.fail("sliding_window", "must be a number: layers have windows");
  std::vector<LayerKind> layers;
  for (const bool slides :
       sliding_layers(config, shape, [](std::int64_t layer) { return (layer + 1) % 6 != 0; })) {
    layers.push_back({.window = window});
    if (slides) continue;
    layers.back() = {
        .rotary = 1, .kv_heads = global_keys, .head_dim = global_head, .values_are_keys = keys};
  }
  // The class makes the last one see everything.
  if (!layers.empty()) {
    layers.back() = {
        .rotary = 1, .kv_heads = global_keys, .head_dim = global_head, .values_are_keys = keys};
  }
  set_layers(shape, layers);
  read_tables(config, shape, global_head);
}

void write_gemma4(const ModelShape& shape, ordered_json& json) {
  const LayerKind& full = layer_kind(shape, shape.layers - 1);
  const RotaryTable& global = shape.rotary.at(1);
  const auto share = static_cast<double>(global.rotated.value_or(*full.head_dim)) /
                     static_cast<double>(*full.head_dim);
  json.erase("rope_theta");
  json.erase("rope_scaling");
  json["rope_parameters"] = {
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", shape.rotary.at(0).theta}}},
      {"full_attention",
       {{"rope_type", "proportional"},
        {"partial_rotary_factor", share},
        {"rope_theta", global.theta}}}};
  json["attention_bias"] = shape.o_bias;
  json[kGlobalHead] = *full.head_dim;
  json[kGlobalKeys] = full.kv_heads ? ordered_json(*full.kv_heads) : ordered_json();
  json["attention_k_eq_v"] = full.values_are_keys;
  json["final_logit_softcapping"] =
      shape.scales.logits_softcap ? ordered_json(*shape.scales.logits_softcap) : ordered_json();
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
  json["hidden_size_per_layer_input"] = 0;
  json["num_kv_shared_layers"] = 0;
}

FamilyDefaults gemma4_defaults() {
  FamilyDefaults usual = gemma_defaults();
  usual.vocab_size = 262144;
  usual.num_hidden_layers = 30;
  usual.max_position_embeddings = 131072;
  usual.sliding_window = 512;
  return usual;
}

}  // namespace

const FamilyReader& gemma4_reader() {
  static const FamilyReader reader{
      {"gemma4_text"}, "Gemma4ForCausalLM", gemma4_defaults(), read_gemma4, write_gemma4};
  return reader;
}

}  // namespace sluice::planner
