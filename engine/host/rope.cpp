#include "engine/host/rope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::engine {
namespace {

using Kind = planner::RopeScaling::Kind;

double llama3_scaled(double frequency, const planner::RopeScaling& scaling) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const double turns = static_cast<double>(scaling.original_max_positions) / wavelength;
  const double blend = std::clamp(
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor), 0.0,
      1.0);
  return (1 - blend) * frequency / scaling.factor + blend * frequency;
}

/// Range of pairs over which yarn blends from the original frequency to the divided one.
struct YarnRange {
  double low, high;
};

YarnRange yarn_range(const planner::ModelShape& shape) {
  const planner::RopeScaling& scaling = shape.rope_scaling;
  const auto dim = static_cast<double>(shape.head_dim);
  // The pair that makes `turns` turns over the original positions.
  const auto pair_of = [&](double turns) {
    const auto positions = static_cast<double>(scaling.original_max_positions);
    return dim * std::log(positions / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(shape.rope_theta));
  };
  double low = pair_of(scaling.beta_fast);
  double high = pair_of(scaling.beta_slow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, dim - 1);
  if (low == high) high += 0.001;
  return {low, high};
}

}  // namespace

std::vector<double> rope_frequencies(const planner::ModelShape& shape) {
  const Kind kind = shape.rope_scaling.kind;
  const YarnRange range = kind == Kind::yarn ? yarn_range(shape) : YarnRange{0, 1};
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < shape.head_dim; i += 2) {
    double frequency =
        std::pow(shape.rope_theta, -static_cast<double>(i) / static_cast<double>(shape.head_dim));
    if (kind == Kind::linear) frequency /= shape.rope_scaling.factor;
    if (kind == Kind::llama3) frequency = llama3_scaled(frequency, shape.rope_scaling);
    if (kind == Kind::yarn) {
      const std::int64_t pair = i / 2;
      const double divided =
          std::clamp((static_cast<double>(pair) - range.low) / (range.high - range.low), 0.0, 1.0);
      frequency = divided * frequency / shape.rope_scaling.factor + (1 - divided) * frequency;
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

double rope_amplitude(const planner::ModelShape& shape) {
  return shape.rope_scaling.kind == Kind::yarn ? shape.rope_scaling.attention_factor : 1;
}

RopeTableValues rope_table_values(const planner::ModelShape& shape, std::int64_t seq_len) {
  const std::vector<double> frequencies = rope_frequencies(shape);
  const double amplitude = rope_amplitude(shape);
  RopeTableValues values;
  values.cos.reserve(static_cast<std::size_t>(seq_len) * frequencies.size());
  values.sin.reserve(values.cos.capacity());
  for (std::int64_t position = 0; position < seq_len; ++position) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      values.cos.push_back(static_cast<float>(amplitude * std::cos(angle)));
      values.sin.push_back(static_cast<float>(amplitude * std::sin(angle)));
    }
  }
  return values;
}

}  // namespace sluice::engine
