// Writes ModelShape as the config.json from which transformers builds it.
#include <nlohmann/json.hpp>

#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/shape.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Name of the activation in config.json.
const char* activation_name(Activation activation) {
  switch (activation) {
    case Activation::silu:
    case Activation::clamped_swiglu:  // gpt_oss states the name and computes its own.
      return "silu";
    case Activation::gelu_tanh:
      return "gelu_pytorch_tanh";
    case Activation::relu2:
      return "relu2";
  }
  return "";
}

}  // namespace

std::string config_from_shape(const ModelShape& shape) {
  const FamilyReader* reader = find_reader(shape.family.model_type);
  check(reader != nullptr, "every shape has a family");
  const RotaryTable& table = shape.rotary.front();
  nlohmann::ordered_json json = {
      {"architectures", {reader->architecture}},
      {"model_type", to_string(shape.family)},
      {"vocab_size", shape.vocab},
      {"hidden_size", shape.hidden},
      {"intermediate_size", shape.intermediate},
      {"num_hidden_layers", shape.layers},
      {"num_attention_heads", shape.heads},
      {"num_key_value_heads", shape.kv_heads},
      {"head_dim", shape.head_dim},
      {reader->defaults.activation_key, activation_name(shape.activation)},
      {"rms_norm_eps", shape.rms_eps},
      {"initializer_range", shape.init_std},
      {"rope_theta", table.theta},
      {"rope_scaling", rope_json(table.scaling)},
      {"tie_word_embeddings", shape.tied_head}};
  if (shape.max_positions) json["max_position_embeddings"] = *shape.max_positions;
  reader->write(shape, json);
  if (!shape.name.empty()) json["_name_or_path"] = shape.name;
  return json.dump(2) + "\n";
}

}  // namespace sluice::planner
