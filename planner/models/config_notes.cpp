#include "planner/models/config_notes.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "planner/models/family_defaults.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Keys that follow from others, or that config_from_shape spells in one of several ways.
constexpr std::array kDerivedKeys = {"architectures",   "model_type",         "_name_or_path",
                                     "rope_theta",      "rope_scaling",       "rope_parameters",
                                     "layer_types",     "use_sliding_window", "max_window_layers",
                                     "num_experts",     "num_local_experts",  "no_rope_layers",
                                     "mlp_only_layers", "attention_dropout",  "residual_dropout"};

/// Values of the keys that matter to the family, as `shape` has them.
ordered_json values_of(const ModelShape& shape) {
  ordered_json values = ordered_json::parse(config_from_shape(shape));
  for (const char* key : kDerivedKeys) values.erase(key);
  const ordered_json written = ordered_json::parse(config_from_shape(shape));
  // Windows that are asked for by a key of their own have no default that counts.
  if (written.contains("use_sliding_window")) values.erase("sliding_window");
  if (shape.latent) values.erase("head_dim");  // It is qk_rope_head_dim.
  if (shape.experts && written.contains("moe_intermediate_size")) values.erase("intermediate_size");
  values["max_position_embeddings"] = shape.max_positions.value_or(0);
  return values;
}

/// Whether rope_theta stands in one of the two places that it may stand in.
bool states_theta(const ordered_json& config) {
  if (config.contains("rope_theta")) return true;
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto given = config.find(key);
    if (given == config.end() || !given->is_object()) continue;
    if (given->contains("rope_theta")) return true;
    for (const auto& [type, inner] : given->items()) {
      if (inner.is_object() && inner.contains("rope_theta")) return true;
    }
  }
  return false;
}

/// Whether a key is a size that transformers gives a number of its own where it is left out, rather
/// than one that follows from the sizes beside it.
bool is_size_of_its_own(std::string_view key, Family family) {
  constexpr std::array kSizes = {
      "vocab_size",        "hidden_size",         "intermediate_size",
      "num_hidden_layers", "num_attention_heads", "moe_intermediate_size",
      "num_experts",       "num_local_experts",   "num_experts_per_tok"};
  const FamilyDefaults& defaults = family_defaults(family);
  if (key == "num_key_value_heads") return defaults.num_key_value_heads.has_value();
  if (key == "head_dim") return defaults.head_dim.has_value();
  return std::ranges::find(kSizes, key) != kSizes.end();
}

ordered_json tree_of(const std::string& json_text) {
  return sim::json_tree(sim::parse_json(json_text, "config.json").root());
}

}  // namespace

Pairs defaulted_keys(const std::string& json_text, const ModelShape& shape) {
  const ordered_json config = tree_of(json_text);
  Pairs keys;
  const ordered_json values = values_of(shape);
  for (const auto& [key, value] : values.items()) {
    if (!config.contains(key)) keys.emplace_back(key, value.dump());
  }
  if (!states_theta(config))
    keys.emplace_back("rope_theta", ordered_json(shape.rotary.back().theta).dump());
  if (config.contains("num_experts") || config.contains("num_local_experts")) return keys;
  const ordered_json written = ordered_json::parse(config_from_shape(shape));
  for (const char* key : {"num_local_experts", "num_experts"}) {
    if (!written.contains(key)) continue;
    keys.emplace_back(key, written.at(key).dump());
    break;
  }
  return keys;
}

Pairs defaulted_sizes(const std::string& json_text, const ModelShape& shape) {
  Pairs sizes = defaulted_keys(json_text, shape);
  std::erase_if(sizes,
                [&](const auto& key) { return !is_size_of_its_own(key.first, shape.family); });
  return sizes;
}

std::string defaults_text(const Pairs& keys) {
  std::string text;
  for (const auto& [key, value] : keys) text += (text.empty() ? "" : ", ") + key + " " + value;
  return text + " (not in config.json; as transformers has them)";
}

std::vector<std::string> config_notes(const std::string& json_text, const ModelShape& shape) {
  const ordered_json config = tree_of(json_text);
  std::vector<std::string> notes;
  for (const auto& [key, value] : config.items()) {
    const bool dropout = key.ends_with("dropout") || key.ends_with("pdrop");
    if (dropout && value.is_number() && value.get<double>() != 0) {
      notes.push_back(key + " " + value.dump() + " is not applied: there is no dropout");
    }
  }
  if (const double usual = family_defaults(shape.family).dropout; usual != 0) {
    for (const char* key : {"attention_dropout", "residual_dropout"}) {
      if (config.contains(key)) continue;
      notes.push_back(std::string(key) + " " + ordered_json(usual).dump() +
                      ", transformers' value where config.json has none, is not applied: there is "
                      "no dropout");
    }
  }
  if (config.contains("auto_map")) {
    notes.push_back("auto_map names code of its own, which is not run: the model is a " +
                    std::string(to_string(shape.family)));
  }
  const RopeScaling& rope = shape.rotary.back().scaling;
  if (rope.kind == RopeScaling::Kind::yarn && shape.max_positions) {
    const double older = static_cast<double>(*shape.max_positions) /
                         static_cast<double>(rope.original_max_positions);
    if (older != rope.factor) {
      notes.push_back(
          "yarn scales by " + ordered_json(rope.factor).dump() +
          ", as transformers does from 4.56 on; earlier ones take max_position_embeddings over "
          "the original positions, " +
          ordered_json(older).dump());
    }
  }
  return notes;
}

std::string stated_dtype(const std::string& json_text) {
  const ordered_json config = tree_of(json_text);
  for (const char* key : {"dtype", "torch_dtype"}) {
    const auto given = config.find(key);
    if (given != config.end() && given->is_string()) return given->get<std::string>();
  }
  return {};
}

}  // namespace sluice::planner
