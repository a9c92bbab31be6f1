#include "planner/models/rope_config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>

#include "planner/models/family_defaults.hpp"
#include "planner/models/wrapped_config.hpp"
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

/// Elements of a head that RoPE turns; none for the whole head. transformers reads the key at the
/// top level and inside the scaling.
std::optional<std::int64_t> rotated_of(const JsonObject& config, const JsonObject* inner,
                                       const ModelShape& shape) {
  constexpr const char* kKey = "partial_rotary_factor";
  const auto usual = family_defaults(shape.family).partial_rotary_factor;
  const auto inside = inner == nullptr ? std::nullopt : inner->find_number(kKey);
  const auto beside = config.find_number(kKey);
  const double part = inside ? *inside : beside.value_or(usual.value_or(1));
  if (!usual && part != 1) {
    (inside ? *inner : config)
        .fail(kKey, text_of(part) + " is not supported in this family: only 1 is, which turns " +
                        "whole heads");
  }
  const auto rotated = static_cast<std::int64_t>(static_cast<double>(shape.head_dim) * part);
  return rotated == shape.head_dim ? std::nullopt : std::optional(rotated);
}

/// Scaling as in transformers' _compute_longrope_parameters.
RopeScaling longrope_of(const JsonObject& config, const JsonObject& scaling,
                        const ModelShape& shape) {
  RopeScaling rope;
  rope.kind = RopeScaling::Kind::longrope;
  rope.original_max_positions = original_positions_of(config, scaling, shape);
  rope.factor = static_cast<double>(shape.max_positions.value_or(0)) /
                static_cast<double>(rope.original_max_positions);
  const auto rotated = rotated_of(config, &scaling, shape).value_or(shape.head_dim);
  for (const auto& [key, list] : {std::pair{"short_factor", &rope.short_factors},
                                  std::pair{"long_factor", &rope.long_factors}}) {
    *list = scaling.numbers(key);
    if (std::ssize(*list) != rotated / 2) {
      scaling.fail(key, "has " + std::to_string(list->size()) + " numbers, and RoPE turns " +
                            std::to_string(rotated / 2) + " pairs of a head");
    }
    for (const double factor : *list) {
      if (!(factor > 0)) scaling.fail(key, "must be positive numbers");
    }
  }
  if (rope.factor > 1) {
    rope.attention_factor = std::sqrt(
        1 + std::log(rope.factor) / std::log(static_cast<double>(rope.original_max_positions)));
  }
  if (scaling.has("attention_factor")) {
    rope.attention_factor = factor_of(scaling, "attention_factor");
  }
  return rope;
}

/// The kind of scaling by name; none for default.
std::optional<std::string> rope_type_of(const JsonObject& config, const JsonObject& scaling) {
  const std::string model = config.find_text("model_type").value_or("");
  const bool axes = is_text_model_of_wrapper(model);
  const auto type = scaling.find_text("rope_type");
  const auto older = scaling.find_text("type");
  if (type && older && *type != *older) {
    scaling.fail("type", "\"" + *older + "\", and rope_type is \"" + *type +
                             "\": versions of transformers differ on which counts; give one");
  }
  auto named = type ? type : older;
  if (axes && named == "mrope") return std::nullopt;
  if (named && *named != "default") return named;
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "long_factor",
                          "short_factor", "mrope_section", "beta_fast", "beta_slow", "mscale"}) {
    if (!scaling.has(key) || (axes && std::string_view(key) == "mrope_section")) continue;
    if (std::string_view(key) == "factor" && scaling.find_number(key) == 1.0) continue;
    scaling.fail(key,
                 "scales nothing without a rope_type; supported: linear, llama3, yarn, longrope");
  }
  return std::nullopt;
}

RopeScaling rope_scaling_of(const JsonObject& config, const JsonObject& scaling,
                            const ModelShape& shape) {
  const auto type = rope_type_of(config, scaling);
  if (!type) return {};
  RopeScaling rope;
  if (*type == "linear") {
    rope.kind = RopeScaling::Kind::linear;
    rope.factor = factor_of(scaling, "factor");
    return rope;
  }
  if (*type == "yarn") return yarn_of(config, scaling, shape);
  const bool lists = scaling.has("short_factor") && scaling.has("long_factor");
  if ((*type == "longrope" || *type == "su") && lists) return longrope_of(config, scaling, shape);
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

/// The parameters of layers of this type in `given`, which may be keyed by layer type.
JsonObject of_layers(const JsonObject& given, const char* type) {
  bool keyed = false;
  for (const std::string& key : given.keys()) {
    keyed = keyed || (given.has(key) && given.value(key).is_object());
  }
  if (!keyed) return given;
  if (auto found = given.find_object(type)) return *found;
  given.fail(type, "is missing, and there are layers of this type");
}

double usual_theta(const ModelShape& shape, const RotaryKeys& keys) {
  return keys.usual_theta.value_or(family_defaults(shape.family).rope_theta);
}

/// RoPE as the object at `key` states it; none where the key is absent.
std::optional<RotaryTable> stated_rope(const JsonObject& config, const char* key,
                                       const ModelShape& shape, const RotaryKeys& keys) {
  const auto given = config.find_object(key);
  if (!given || given->keys().empty()) return std::nullopt;
  const JsonObject layers = of_layers(*given, keys.type);
  const auto theta_beside = config.find_number(keys.theta);
  const auto theta = layers.find_number("rope_theta");
  if (theta && theta_beside && *theta != *theta_beside) {
    config.fail(keys.theta, text_of(*theta_beside) + " here, and " + text_of(*theta) + " in " +
                                key + ": transformers before 5 takes the one, 5 the other; " +
                                "make them equal");
  }
  const FamilyDefaults& defaults = family_defaults(shape.family);
  RotaryTable table{.theta = theta ? *theta : theta_beside.value_or(usual_theta(shape, keys)),
                    .scaling = rope_scaling_of(config, layers, shape),
                    .rotated = rotated_of(config, &layers, shape),
                    .interleaved = defaults.interleaved_rotary};
  if (table.scaling.kind == RopeScaling::Kind::yarn && !(table.theta > 1)) {
    layers.fail("rope_type", "yarn needs a rope_theta of more than 1");
  }
  return table;
}

}  // namespace

RotaryTable rotary_of(const JsonObject& config, const ModelShape& shape, const RotaryKeys& keys) {
  const auto older =
      keys.scaling == nullptr ? std::nullopt : stated_rope(config, keys.scaling, shape, keys);
  const auto newer = stated_rope(config, "rope_parameters", shape, keys);
  if (older && newer && *older != *newer) {
    config.fail("rope_scaling", "and rope_parameters differ: make them equal, or leave one out");
  }
  if (older) return *older;
  if (newer) return *newer;
  RotaryTable table{.theta = config.find_number(keys.theta).value_or(usual_theta(shape, keys)),
                    .rotated = rotated_of(config, nullptr, shape),
                    .interleaved = family_defaults(shape.family).interleaved_rotary};
  if (keys.scaling != nullptr) table.scaling = family_defaults(shape.family).rope_scaling;
  return table;
}

void read_rope(const JsonObject& config, ModelShape& shape) {
  const bool window = shape.kinds.front().window.has_value();
  shape.rotary = {
      rotary_of(config, shape, {.type = window ? "sliding_attention" : "full_attention"})};
}

void refuse_theta_alone(const JsonObject& config, const ModelShape& shape, const char* reason) {
  if (config.has("rope_parameters")) return;
  const auto theta = config.find_number("rope_theta");
  if (theta && *theta != family_defaults(shape.family).rope_theta) {
    config.fail("rope_theta", reason);
  }
}

double yarn_magnitude(double factor, double mscale) {
  return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1;
}

void add_scale_keys(const ModelShape& shape, nlohmann::ordered_json& json) {
  const Scales& scales = shape.scales;
  if (scales.query_growth != 0) json[kQueryGrowth] = scales.query_growth;
  const RopeScaling& scaling = shape.rotary.front().scaling;
  if (!shape.latent || !scales.attention || scaling.kind != RopeScaling::Kind::yarn) return;
  // The scale of scores is magnitude^2 head_dim^-1/2, with yarn_magnitude(factor, mscale_all_dim).
  const double magnitude =
      std::sqrt(*scales.attention * std::sqrt(static_cast<double>(shape.head_dim)));
  json["mscale_all_dim"] = (magnitude - 1) / (0.1 * std::log(scaling.factor));
}

nlohmann::ordered_json rope_parameters_json(const ModelShape& shape) {
  const auto of_table = [&shape](const RotaryTable& table) {
    nlohmann::ordered_json json = rope_json(table.scaling);
    if (json.is_null()) json = {{"rope_type", "default"}};
    json["rope_theta"] = table.theta;
    add_scale_keys(shape, json);
    // In latent attention a head of its own turns, whole.
    if (table.rotated && !shape.latent) {
      json["partial_rotary_factor"] =
          static_cast<double>(*table.rotated) / static_cast<double>(shape.head_dim);
    }
    return json;
  };
  if (shape.rotary.size() == 1) return of_table(shape.rotary.front());
  nlohmann::ordered_json json;
  for (const LayerKind& kind : shape.kinds) {
    if (!kind.rotary) continue;
    json[kind.window ? "sliding_attention" : "full_attention"] =
        of_table(shape.rotary.at(*kind.rotary));
  }
  return json;
}

nlohmann::ordered_json rope_json(const RopeScaling& scaling) {
  switch (scaling.kind) {
    case RopeScaling::Kind::none:
    case RopeScaling::Kind::proportional:  // Its reader writes it.
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
    case RopeScaling::Kind::longrope:  // Versions of transformers take exactly these keys.
      return {{"type", "longrope"},
              {"short_factor", scaling.short_factors},
              {"long_factor", scaling.long_factors}};
  }
  return nullptr;
}

}  // namespace sluice::planner
