#include "engine/host/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/error.hpp"

namespace sluice::engine {
namespace {

double llama3_scaled(double frequency, const planner::RopeScaling& scaling) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double turns = static_cast<double>(scaling.original_max_positions) / wavelength;
  const double blend = std::clamp(
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor), 0.0,
      1.0);
  return (1 - blend) * frequency / scaling.factor + blend * frequency;
}

}  // namespace

std::vector<double> rope_frequencies(const planner::ModelShape& shape) {
  using Kind = planner::RopeScaling::Kind;
  const Kind kind = shape.rope_scaling.kind;
  if (kind == Kind::yarn) {
    throw BadRequest("model." + shape.name +
                     ": rope_scaling yarn is not computed by the host backend; "
                     "use a config.json with rope_type default, linear or llama3");
  }
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < shape.head_dim; i += 2) {
    double frequency =
        std::pow(shape.rope_theta, -static_cast<double>(i) / static_cast<double>(shape.head_dim));
    if (kind == Kind::linear) frequency /= shape.rope_scaling.factor;
    if (kind == Kind::llama3) frequency = llama3_scaled(frequency, shape.rope_scaling);
    frequencies.push_back(frequency);
  }
  return frequencies;
}

}  // namespace sluice::engine
