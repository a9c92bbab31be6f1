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

YarnRange yarn_range(const planner::RotaryTable& table, double dim) {
  const planner::RopeScaling& scaling = table.scaling;
  // The pair that makes `turns` turns over the original positions.
  const auto pair_of = [&](double turns) {
    const auto positions = static_cast<double>(scaling.original_max_positions);
    return dim * std::log(positions / (turns * 2 * std::numbers::pi)) / (2 * std::log(table.theta));
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

std::vector<double> rope_frequencies(const planner::RotaryTable& table, std::int64_t head_dim) {
  const Kind kind = table.scaling.kind;
  const std::int64_t rotated = table.rotated.value_or(head_dim);
  const auto dim = static_cast<double>(rotated);
  const YarnRange range = kind == Kind::yarn ? yarn_range(table, dim) : YarnRange{0, 1};
  std::vector<double> frequencies;
  for (std::int64_t i = 0; i < rotated; i += 2) {
    double frequency = std::pow(table.theta, -static_cast<double>(i) / dim);
    if (kind == Kind::linear) frequency /= table.scaling.factor;
    if (kind == Kind::llama3) frequency = llama3_scaled(frequency, table.scaling);
    if (kind == Kind::yarn) {
      const std::int64_t pair = i / 2;
      const double divided =
          std::clamp((static_cast<double>(pair) - range.low) / (range.high - range.low), 0.0, 1.0);
      frequency = divided * frequency / table.scaling.factor + (1 - divided) * frequency;
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

double rope_amplitude(const planner::RotaryTable& table) {
  return table.scaling.kind == Kind::yarn ? table.scaling.attention_factor : 1;
}

RopeTableValues rope_table_values(const planner::RotaryTable& table, std::int64_t head_dim,
                                  std::int64_t seq_len) {
  const std::vector<double> frequencies = rope_frequencies(table, head_dim);
  const double amplitude = rope_amplitude(table);
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
