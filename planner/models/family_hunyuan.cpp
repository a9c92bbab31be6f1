// Hunyuan's dense models: llama whose queries and keys are normed behind their rotation.
#include <cmath>
#include <nlohmann/json.hpp>

#include "planner/models/config_values.hpp"
#include "planner/models/family_reader.hpp"
#include "planner/models/rope_config.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

constexpr const char* kStretch = "alpha";

/// The scaling of RoPE that has a fixed alpha. Checkpoints call it dynamic; it is a base that is
/// alpha^(d / (d - 2)) times as large, for heads of d elements. None for other scalings.
std::optional<JsonObject> stretched(const JsonObject& config) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    auto given = config.find_object(key);
    if (!given) continue;
    const auto type =
        given->has("rope_type") ? given->find_text("rope_type") : given->find_text("type");
    if (type == "dynamic" && given->find_number(kStretch).value_or(0) != 0) return given;
  }
  return std::nullopt;
}

void read_hunyuan(const JsonObject& config, ModelShape& shape) {
  shape.qkv_bias = shape.o_bias = boolean_or(config, "attention_bias", false);
  shape.head_norm = HeadNorm::per_head;
  shape.norm_behind_rotation = true;
  shape.names.q_norm = "self_attn.query_layernorm";
  shape.names.k_norm = "self_attn.key_layernorm";
  const auto given = stretched(config);
  if (!given) return read_rope(config, shape);
  const double alpha = given->number(kStretch);
  if (!(alpha > 0)) given->fail(kStretch, "must be positive");
  if (shape.head_dim < 4) config.fail("head_dim", "must be at least 4 where RoPE has an alpha");
  const auto size = static_cast<double>(shape.head_dim);
  const double theta =
      given->find_number("rope_theta").value_or(config.find_number("rope_theta").value_or(10000));
  shape.rotary = {RotaryTable{.theta = theta * std::pow(alpha, size / (size - 2))}};
}

void write_hunyuan(const ModelShape& shape, ordered_json& json) {
  json["attention_bias"] = shape.o_bias;
}

}  // namespace

const FamilyReader& hunyuan_v1_dense_reader() {
  static const FamilyReader reader{{"hunyuan_v1_dense"},
                                   "HunYuanDenseV1ForCausalLM",
                                   {.vocab_size = 290943, .rms_norm_eps = 1e-5},
                                   read_hunyuan,
                                   write_hunyuan};
  return reader;
}

}  // namespace sluice::planner
