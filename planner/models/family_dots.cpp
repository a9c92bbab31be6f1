// dots.llm1: qwen3's attention, with windows in its last layers where there are any, and DeepSeek's
// experts behind a few dense layers.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/routed_config.hpp"
#include "planner/models/window_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

/// Numbers of experts are dots.llm1's: the class has none.
void read_dots1(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.head_norm = HeadNorm::per_head;
  read_routed(config, shape,
              {.experts = {.count = 128,
                           .active = 6,
                           .intermediate = 1408,
                           .normalized = false,
                           .score = RouterScore::sigmoid,
                           .correction_bias = true},
               .shared = 2,
               .dense = 0});
  const auto window = window_size(config, shape);
  const std::int64_t first = integer_or(config, "max_window_layers", 62);
  const std::vector<bool> sliding =
      sliding_layers(config, shape, [first](std::int64_t layer) { return layer >= first; });
  std::vector<LayerKind> layers;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    layers.push_back(layer_kind(shape, layer));
    if (sliding[static_cast<std::size_t>(layer)]) layers.back().window = window;
  }
  set_layers(shape, layers);
  read_rope(config, shape);
}

void write_dots1(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
  json["sliding_window"] = window_json(shape);
  json["layer_types"] = layer_types_json(shape);
  write_routed(shape, json);
}

}  // namespace

const FamilyReader& dots1_reader() {
  static const FamilyReader reader{{"dots1"},
                                   "Dots1ForCausalLM",
                                   {.vocab_size = 152064,
                                    .hidden_size = 4608,
                                    .intermediate_size = 10944,
                                    .num_hidden_layers = 62,
                                    .num_key_value_heads = 32,
                                    .max_position_embeddings = 2048,
                                    .sliding_window = 4096,
                                    .num_experts = 128},
                                   read_dots1,
                                   write_dots1};
  return reader;
}

}  // namespace sluice::planner
