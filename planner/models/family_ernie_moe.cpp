// Baidu's ERNIE 4.5 with experts: chosen by softmax and a bias, some shared by all tokens.
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

/// The value of a key that transformers takes by either of two names.
std::int64_t either(const JsonObject& config, const char* own, const char* usual,
                    std::int64_t otherwise) {
  const auto one = config.find_integer(own), other = config.find_integer(usual);
  if (one && other && *one != *other) {
    config.fail(own, std::string("and ") + usual + " differ: make them equal, or give one");
  }
  return one ? *one : other.value_or(otherwise);
}

/// Gives layers their kinds: experts where the interval says so between the first and the last.
void read_kinds(const JsonObject& config, ModelShape& shape) {
  const std::int64_t interval = integer_or(config, "moe_layer_interval", 1);
  if (interval < 1) config.fail("moe_layer_interval", "must be at least 1");
  const std::int64_t first = integer_or(config, "moe_layer_start_index", 1);
  const std::int64_t stated = integer_or(config, "moe_layer_end_index", -1);
  const std::int64_t last = stated == -1 ? shape.layers - 1 : stated;
  std::vector<LayerKind> layers(static_cast<std::size_t>(shape.layers));
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const bool routed = (layer + 1) % interval == 0 && layer >= first && layer <= last;
    if (!routed) layers[static_cast<std::size_t>(layer)].dense_intermediate = shape.intermediate;
  }
  set_layers(shape, layers);
}

void read_ernie4_5_moe(const JsonObject& config, ModelShape& shape) {
  if (boolean_or(config, "use_bias", false)) {
    config.fail("use_bias", "is not supported in this family: set it to false");
  }
  read_rope(config, shape);
  read_kinds(config, shape);
  Experts experts;
  experts.count = either(config, "moe_num_experts", "num_experts", 64);
  experts.active = either(config, "moe_k", "num_experts_per_tok", 6);
  experts.intermediate = integer_or(config, "moe_intermediate_size", 1536);
  experts.correction_bias = true;
  experts.shared_intermediate =
      integer_or(config, "moe_num_shared_experts", 2) * experts.intermediate;
  shape.experts = experts;
  shape.names.experts.shared = "mlp.shared_experts";
  shape.names.experts.correction_bias = "mlp.moe_statics.e_score_correction_bias";
  shape.names.experts.correction_row = true;
  shape.intermediate = experts.active * experts.intermediate;
}

void write_ernie4_5_moe(const ModelShape& shape, ordered_json& json) {
  const Experts& experts = *shape.experts;
  json["use_bias"] = false;
  json["moe_num_experts"] = experts.count;
  json["moe_k"] = experts.active;
  json["moe_intermediate_size"] = experts.intermediate;
  json["moe_num_shared_experts"] = experts.shared_intermediate / experts.intermediate;
  std::int64_t first = 0, last = -1, between = 0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    if (const auto width = layer_kind(shape, layer).dense_intermediate) {
      json["intermediate_size"] = *width;
      continue;
    }
    if (last < 0) first = layer;
    if (last >= 0 && between == 0) between = layer - last;
    last = layer;
  }
  json["moe_layer_start_index"] = first;
  json["moe_layer_end_index"] = last;
  json["moe_layer_interval"] = std::max<std::int64_t>(1, between);
}

}  // namespace

const FamilyReader& ernie4_5_moe_reader() {
  static const FamilyReader reader{{"ernie4_5_moe"},
                                   "Ernie4_5_MoeForCausalLM",
                                   {.vocab_size = 103424,
                                    .hidden_size = 2560,
                                    .intermediate_size = 12288,
                                    .num_hidden_layers = 28,
                                    .num_attention_heads = 20,
                                    .num_key_value_heads = 4,
                                    .max_position_embeddings = 131072,
                                    .rms_norm_eps = 1e-5,
                                    .tie_word_embeddings = true,
                                    .rope_theta = 500000,
                                    .interleaved_rotary = true,
                                    .num_experts = 64,
                                    .num_experts_per_tok = 6,
                                    .moe_intermediate_size = 1536},
                                   read_ernie4_5_moe,
                                   write_ernie4_5_moe};
  return reader;
}

}  // namespace sluice::planner
