// Reads Hugging Face's config.json into a ModelShape: sizes that all families have, with
// transformers' defaults, and then what the family's reader knows.
#include <algorithm>
#include <array>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/shape.hpp"
#include "planner/models/wrapped_config.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using sim::JsonObject;

/// Names of all families, those that no backend computes yet at the end.
std::string supported_families() {
  std::string text;
  for (const FamilyReader* reader : family_readers()) {
    text += (text.empty() ? "" : ", ") + std::string(reader->family.model_type);
  }
  return text;
}

const FamilyReader& reader_for(const JsonObject& config, const std::string& wrapper) {
  const std::string type =
      config.has("model_type") || wrapper.empty() ? config.text("model_type") : wrapper;
  if (const FamilyReader* reader = find_reader(text_model_type(type))) {
    for (const char* key : {"num_experts", "num_local_experts", "n_routed_experts"}) {
      if (config.has(key) && reader->defaults.num_experts == 0) {
        config.fail(key, "a mixture of experts is not supported for model_type " + type +
                             "; supported: " + supported_families());
      }
    }
    return *reader;
  }
  const bool experts =
      type.find("moe") != std::string::npos ||
      std::ranges::any_of(std::array{"llama4", "dbrx", "arctic", "jamba", "grok-1", "minimax"},
                          [&type](const char* name) { return type == name; });
  config.fail("model_type", "\"" + type + "\" is " +
                                (experts ? "a mixture of experts, which is not supported"
                                         : "not a supported family") +
                                "; supported: " + supported_families());
}

std::int64_t kv_heads_of(const JsonObject& config, const ModelShape& shape,
                         const FamilyDefaults& defaults) {
  constexpr const char* kKey = "num_key_value_heads";
  const std::int64_t otherwise =
      std::max<std::int64_t>(1, defaults.num_key_value_heads.value_or(shape.heads));
  const bool null = config.json().contains(kKey) && !config.has(kKey);
  if (null && defaults.null_key_value_heads) return shape.heads;
  if (!config.json().contains(kKey) && shape.heads % otherwise != 0) {
    config.fail(kKey, "is missing, and transformers' " + std::to_string(otherwise) +
                          " does not divide num_attention_heads (" + std::to_string(shape.heads) +
                          "): give it");
  }
  return integer_or(config, kKey, otherwise);
}

std::int64_t head_dim_of(const JsonObject& config, const ModelShape& shape,
                         const FamilyDefaults& defaults) {
  if (const auto given = config.find_integer("head_dim")) return *given;
  if (defaults.head_dim) return integer_or(config, "head_dim", *defaults.head_dim);
  if (shape.heads < 1 || shape.hidden % shape.heads != 0) {
    config.fail("head_dim", "is missing and num_attention_heads (" + std::to_string(shape.heads) +
                                ") does not divide hidden_size (" + std::to_string(shape.hidden) +
                                "): give head_dim");
  }
  return shape.hidden / shape.heads;
}

Activation activation_of(const JsonObject& config, const FamilyDefaults& defaults) {
  const char* key = defaults.activation_key;
  const std::string name = config.find_text(key).value_or(defaults.activation);
  if (name == "silu" || name == "swish") return Activation::silu;
  for (const char* tanh : {"gelu_pytorch_tanh", "gelu_new"}) {
    if (name == tanh) return Activation::gelu_tanh;
  }
  // Gemma's first configs say "gelu" and mean the approximation.
  const bool meant =
      std::string(key) == "hidden_act" && std::string(defaults.activation) == "gelu_pytorch_tanh";
  if (name == "gelu" && meant) return Activation::gelu_tanh;
  // Without a gate an MLP is another network: only families whose default it is have it.
  if (name == "relu2" && name == defaults.activation) return Activation::relu2;
  config.fail(key, "\"" + name + "\" is not supported; supported: silu, gelu_pytorch_tanh" +
                       (std::string(defaults.activation) == "relu2" ? ", relu2" : ""));
}

/// The shape of a text model, on its own or in a wrapper of the model_type `wrapper`.
ModelShape shape_of_text(const JsonObject& config, const std::string& wrapper) {
  const FamilyReader& reader = reader_for(config, wrapper);
  const FamilyDefaults& defaults = reader.defaults;
  ModelShape shape;
  shape.name = config.find_text("_name_or_path").value_or("");
  shape.family = reader.family;
  shape.activation = activation_of(config, defaults);
  shape.layers = integer_or(config, "num_hidden_layers", defaults.num_hidden_layers);
  shape.hidden = integer_or(config, "hidden_size", defaults.hidden_size);
  shape.intermediate = integer_or(config, "intermediate_size", defaults.intermediate_size);
  shape.heads = integer_or(config, "num_attention_heads", defaults.num_attention_heads);
  shape.kv_heads = kv_heads_of(config, shape, defaults);
  shape.head_dim = head_dim_of(config, shape, defaults);
  shape.vocab = integer_or(config, "vocab_size", defaults.vocab_size);
  shape.max_positions =
      integer_or(config, "max_position_embeddings", defaults.max_position_embeddings);
  shape.tied_head = boolean_or(config, "tie_word_embeddings", defaults.tie_word_embeddings);
  shape.rms_eps = config.find_number("rms_norm_eps").value_or(defaults.rms_norm_eps);
  shape.init_std = config.find_number("initializer_range").value_or(0.02);
  // Before the family's reader makes a list of a number of layers beyond reason.
  if (shape.layers < 1 || shape.layers > 1 << 16) validate(shape, config.where());
  reader.read(config, shape);
  validate(shape, config.where());
  return shape;
}

}  // namespace

ModelShape shape_from_config(const std::string& json_text, const std::string& where) {
  const sim::JsonDocument json = sim::parse_json(json_text, where);
  const JsonObject config(json, where);
  const auto text = wrapped_text_config(config);
  if (!text) return shape_of_text(config, "");
  ModelShape shape = shape_of_text(*text, config.text("model_type"));
  // The wrapper's own key decides for the text model inside it.
  shape.tied_head = boolean_or(config, "tie_word_embeddings", shape.tied_head);
  if (shape.name.empty()) shape.name = config.find_text("_name_or_path").value_or("");
  return shape;
}

}  // namespace sluice::planner
