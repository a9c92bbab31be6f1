#include "planner/models/rope_config.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

using sim::JsonObject;

double factor_of(const JsonObject& scaling, const char* key) {
  const double factor = scaling.number(key);
  if (!(factor > 0)) scaling.fail(key, "must be positive");
  return factor;
}

std::int64_t original_positions_of(const JsonObject& config, const JsonObject& scaling) {
  auto positions = scaling.find_integer("original_max_position_embeddings");
  if (!positions) positions = config.find_integer("original_max_position_embeddings");
  if (!positions) positions = config.find_integer("max_position_embeddings");
  if (!positions) scaling.fail("original_max_position_embeddings", "is missing");
  if (*positions < 1) scaling.fail("original_max_position_embeddings", "must be at least 1");
  return *positions;
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
RopeScaling yarn_of(const JsonObject& config, const JsonObject& scaling) {
  RopeScaling rope;
  rope.kind = RopeScaling::Kind::yarn;
  rope.original_max_positions = original_positions_of(config, scaling);
  if (scaling.has("factor")) {
    rope.factor = factor_of(scaling, "factor");
  } else {
    rope.factor = static_cast<double>(config.integer("max_position_embeddings")) /
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

RopeScaling rope_scaling_of(const JsonObject& config, const JsonObject& scaling) {
  if (scaling.find_number("partial_rotary_factor").value_or(1) != 1) {
    scaling.fail("partial_rotary_factor", "only 1 is supported");
  }
  auto type = scaling.find_text("rope_type");
  if (!type) type = scaling.find_text("type");
  if (!type || *type == "default") return {};
  RopeScaling rope;
  if (*type == "linear") {
    rope.kind = RopeScaling::Kind::linear;
    rope.factor = factor_of(scaling, "factor");
    return rope;
  }
  if (*type == "yarn") return yarn_of(config, scaling);
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
  rope.original_max_positions = original_positions_of(config, scaling);
  return rope;
}

}  // namespace

void read_rope(const JsonObject& config, ModelShape& shape) {
  shape.rope_theta = config.find_number("rope_theta").value_or(10000);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto scaling = config.find_object(key);
    if (!scaling) continue;
    shape.rope_theta = scaling->find_number("rope_theta").value_or(shape.rope_theta);
    shape.rope_scaling = rope_scaling_of(config, *scaling);
    if (shape.rope_scaling.kind == RopeScaling::Kind::yarn && !(shape.rope_theta > 1)) {
      scaling->fail("rope_type", "yarn needs a rope_theta of more than 1");
    }
  }
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
