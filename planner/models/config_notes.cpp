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

/// Values of the keys that every family has, as `shape` has them.
ordered_json values_of(const ModelShape& shape) {
  ordered_json values = {{"vocab_size", shape.vocab},
                         {"hidden_size", shape.hidden},
                         {"num_hidden_layers", shape.layers},
                         {"num_attention_heads", shape.heads},
                         {"num_key_value_heads", shape.kv_heads},
                         {"head_dim", shape.head_dim},
                         {"hidden_act", "silu"},
                         {"max_position_embeddings", shape.max_positions.value_or(0)},
                         {"rms_norm_eps", shape.rms_eps},
                         {"tie_word_embeddings", shape.tied_head},
                         {"initializer_range", shape.init_std}};
  const bool moe = shape.family == Family::qwen3_moe;
  if (!shape.experts) values["intermediate_size"] = shape.intermediate;
  if (shape.experts && !moe) values["intermediate_size"] = shape.experts->intermediate;
  if (shape.experts) values["num_experts_per_tok"] = shape.experts->active;
  if (moe) {
    values["moe_intermediate_size"] = shape.experts->intermediate;
    values["norm_topk_prob"] = shape.experts->normalized;
  }
  if (shape.family == Family::llama) values["mlp_bias"] = shape.mlp_bias;
  if (shape.family == Family::llama || shape.head_norm == HeadNorm::per_head) values["attention_bias"] = shape.o_bias;
  if (shape.family == Family::mistral || shape.family == Family::mixtral) {
    const auto window = shape.kinds.front().window;
    values["sliding_window"] =
        window ? ordered_json(*window) : ordered_json();
  }
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
  if (!states_theta(config)) keys.emplace_back("rope_theta", ordered_json(shape.rotary.front().theta).dump());
  if (shape.experts && !config.contains("num_experts") && !config.contains("num_local_experts")) {
    keys.emplace_back(shape.family == Family::qwen3_moe ? "num_experts" : "num_local_experts",
                      std::to_string(shape.experts->count));
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
  if (config.contains("auto_map")) {
    notes.push_back("auto_map names code of its own, which is not run: the model is a " +
                    std::string(to_string(shape.family)));
  }
  const RopeScaling& rope = shape.rotary.front().scaling;
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
