#include "planner/models/rope_config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "planner/models/family_defaults.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using sim::JsonObject;

double factor_of(const JsonObject& scaling, const char* key) {
  const double factor = scaling.number(key);
  if (!(factor > 0)) scaling.fail(key, "must be positive");
  return factor;
}

/// Text of a number as config.json has it, for messages.
std::string text_of(double value) { return nlohmann::json(value).dump(); }

/// Key of both levels; transformers takes the one of the top level.
constexpr const char* kOriginal = "original_max_position_embeddings";

std::int64_t original_positions_of(const JsonObject& config, const JsonObject& scaling,
                                   const ModelShape& shape) {
  const auto inside = scaling.find_integer(kOriginal);
  const auto beside = config.find_integer(kOriginal);
  if (inside && beside && *inside != *beside) {
    config.fail(kOriginal, std::to_string(*beside) + " here, and " + std::to_string(*inside) +
                               " in the scaling of RoPE: make them equal");
  }
  const std::int64_t positions = inside   ? *inside
                                 : beside ? *beside
                                          : shape.max_positions.value_or(0);
  if (positions < 1) scaling.fail(kOriginal, "must be at least 1");
  return positions;
}

double positive_or(const JsonObject& scaling, const char* key, double otherwise) {
  const std::optional<double> given = scaling.find_number(key);
  if (given && *given < 0) scaling.fail(key, "must be positive");
  return given.value_or(0) == 0 ? otherwise : *given;  // As in transformers, 0 is not given.
}

/// Growth of the softmax's logits with the context (arXiv 2309.00071, equation 22).
double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

/// Scaling as in transformers' _compute_yarn_parameters (modeling_rope_utils.py of 5.x).
RopeScaling yarn_of(const JsonObject& config, const JsonObject& scaling, const ModelShape& shape) {
  RopeScaling rope;
  rope.kind = RopeScaling::Kind::yarn;
  rope.original_max_positions = original_positions_of(config, scaling, shape);
  if (scaling.has("factor")) {
    rope.factor = factor_of(scaling, "factor");
  } else {
    rope.factor = static_cast<double>(shape.max_positions.value_or(0)) /
                  static_cast<double>(rope.original_max_positions);
    if (!(rope.factor > 0)) config.fail("max_position_embeddings", "must be at least 1");
  }
  rope.beta_fast = positive_or(scaling, "beta_fast", rope.beta_fast);
  rope.beta_slow = positive_or(scaling, "beta_slow", rope.beta_slow);
  if (rope.beta_fast < rope.beta_slow) {
    scaling.fail("beta_fast", "must not be less than beta_slow");
  }
  rope.truncate = scaling.find_boolean("truncate").value_or(true);
  const double mscale = positive_or(scaling, "mscale", 0);
  const double mscale_all = positive_or(scaling, "mscale_all_dim", 0);
  rope.attention_factor = mscale > 0 && mscale_all > 0 ? yarn_magnitude(rope.factor, mscale) /
                                                             yarn_magnitude(rope.factor, mscale_all)
                                                       : yarn_magnitude(rope.factor, 1);
  if (scaling.has("attention_factor")) {
    rope.attention_factor = factor_of(scaling, "attention_factor");
  }
  return rope;
}

/// Refuses embeddings of a part of each head; transformers reads the key at the top level and
/// inside the scaling.
void refuse_partial(const JsonObject& object) {
  const double part = object.find_number("partial_rotary_factor").value_or(1);
  if (part == 1) return;
  object.fail("partial_rotary_factor",
              text_of(part) + " is not supported: only 1 is, which turns whole heads");
}

/// The kind of scaling by name; none for default.
std::optional<std::string> rope_type_of(const JsonObject& scaling) {
  const auto type = scaling.find_text("rope_type");
  const auto older = scaling.find_text("type");
  if (type && older && *type != *older) {
    scaling.fail("type", "\"" + *older + "\", and rope_type is \"" + *type +
                             "\": versions of transformers differ on which counts; give one");
  }
  auto named = type ? type : older;
  if (named && *named != "default") return named;
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "long_factor",
                          "short_factor", "mrope_section", "beta_fast", "beta_slow", "mscale"}) {
    if (!scaling.has(key)) continue;
    if (std::string_view(key) == "factor" && scaling.find_number(key) == 1.0) continue;
    scaling.fail(key, "scales nothing without a rope_type; supported: linear, llama3, yarn");
  }
  return std::nullopt;
}

RopeScaling rope_scaling_of(const JsonObject& config, const JsonObject& scaling,
                            const ModelShape& shape) {
  refuse_partial(scaling);
  const auto type = rope_type_of(scaling);
  if (!type) return {};
  RopeScaling rope;
  if (*type == "linear") {
    rope.kind = RopeScaling::Kind::linear;
    rope.factor = factor_of(scaling, "factor");
    return rope;
  }
  if (*type == "yarn") return yarn_of(config, scaling, shape);
  if (*type != "llama3") {
    scaling.fail("rope_type", "\"" + *type +
                                  "\" is not supported; supported: default, linear, "
                                  "llama3, yarn");
  }
  rope.kind = RopeScaling::Kind::llama3;
  rope.factor = factor_of(scaling, "factor");
  rope.low_freq_factor = factor_of(scaling, "low_freq_factor");
  rope.high_freq_factor = factor_of(scaling, "high_freq_factor");
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    scaling.fail("high_freq_factor", "must be more than low_freq_factor");
  }
  rope.original_max_positions = original_positions_of(config, scaling, shape);
  return rope;
}

/// Base and scaling of RoPE.
struct Rope {
  double theta = 0;
  RopeScaling scaling;
  friend bool operator==(const Rope&, const Rope&) = default;
};

/// The parameters of the layers of `shape` in `given`, which may be keyed by layer type.
JsonObject of_layers(const JsonObject& given, const ModelShape& shape) {
  bool keyed = false;
  for (const std::string& key : given.keys()) {
    keyed = keyed || (given.has(key) && given.value(key).is_object());
  }
  if (!keyed) return given;
  const char* type = shape.kinds.front().window ? "sliding_attention" : "full_attention";
  if (auto found = given.find_object(type)) return *found;
  given.fail(type, "is missing, and all layers are of this type");
}

/// RoPE as the object at `key` states it; none where the key is absent.
std::optional<Rope> stated_rope(const JsonObject& config, const char* key, const ModelShape& shape,
                                std::optional<double> theta_beside) {
  const auto given = config.find_object(key);
  if (!given || given->keys().empty()) return std::nullopt;
  const JsonObject layers = of_layers(*given, shape);
  const auto theta = layers.find_number("rope_theta");
  if (theta && theta_beside && *theta != *theta_beside) {
    config.fail("rope_theta", text_of(*theta_beside) + " here, and " + text_of(*theta) + " in " +
                                  key + ": transformers before 5 takes the one, 5 the other; " +
                                  "make them equal");
  }
  const Rope rope{
      .theta = theta ? *theta : theta_beside.value_or(family_defaults(shape.family).rope_theta),
      .scaling = rope_scaling_of(config, layers, shape)};
  if (rope.scaling.kind == RopeScaling::Kind::yarn && !(rope.theta > 1)) {
    layers.fail("rope_type", "yarn needs a rope_theta of more than 1");
  }
  return rope;
}

/// RoPE of a config that states none.
Rope default_rope(const ModelShape& shape, std::optional<double> theta) {
  Rope rope{.theta = theta.value_or(family_defaults(shape.family).rope_theta), .scaling = {}};
  if (shape.family == Family::gpt_oss) {
    rope.scaling = {.kind = RopeScaling::Kind::yarn,
                    .factor = 32,
                    .original_max_positions = 4096,
                    .truncate = false,
                    .attention_factor = yarn_magnitude(32, 1)};
  }
  return rope;
}

}  // namespace

void read_rope(const JsonObject& config, ModelShape& shape) {
  refuse_partial(config);
  const auto theta = config.find_number("rope_theta");
  const auto older = stated_rope(config, "rope_scaling", shape, theta);
  const auto newer = stated_rope(config, "rope_parameters", shape, theta);
  if (older && newer && *older != *newer) {
    config.fail("rope_scaling", "and rope_parameters differ: make them equal, or leave one out");
  }
  const Rope rope = older ? *older : newer ? *newer : default_rope(shape, theta);
  shape.rotary = {{.theta = rope.theta, .scaling = rope.scaling}};
}

nlohmann::ordered_json rope_parameters_json(const ModelShape& shape) {
  nlohmann::ordered_json json = rope_json(shape.rotary.front().scaling);
  if (json.is_null()) json = {{"rope_type", "default"}};
  json["rope_theta"] = shape.rotary.front().theta;
  return json;
}

nlohmann::ordered_json rope_json(const RopeScaling& scaling) {
  switch (scaling.kind) {
    case RopeScaling::Kind::none:
      break;
    case RopeScaling::Kind::linear:
      return {{"rope_type", "linear"}, {"factor", scaling.factor}};
    case RopeScaling::Kind::llama3:
      return {{"rope_type", "llama3"},
              {"factor", scaling.factor},
              {"low_freq_factor", scaling.low_freq_factor},
              {"high_freq_factor", scaling.high_freq_factor},
              {"original_max_position_embeddings", scaling.original_max_positions}};
    case RopeScaling::Kind::yarn:
      return {{"rope_type", "yarn"},
              {"factor", scaling.factor},
              {"original_max_position_embeddings", scaling.original_max_positions},
              {"beta_fast", scaling.beta_fast},
              {"beta_slow", scaling.beta_slow},
              {"truncate", scaling.truncate},
              {"attention_factor", scaling.attention_factor}};
  }
  return nullptr;
}

}  // namespace sluice::planner
