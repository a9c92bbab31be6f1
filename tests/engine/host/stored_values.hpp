// Values of a compute type for tests of kernels, and how near to double precision they must come.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "engine/optimizer/master_weights.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine::testing {

using planner::ComputeType;
using Floats = std::vector<float>;

inline Floats random_floats(std::int64_t n, std::uint32_t seed, float scale = 2) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  Floats values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(uniform(random));
  return values;
}

/// Values as the compute type stores them.
struct Stored {
  ComputeType compute;
  Floats fp32;
  std::vector<std::uint16_t> bf16;
  Stored(const Floats& values, ComputeType type) : compute(type), fp32(values) {
    if (compute == ComputeType::fp32) return;
    for (float& value : fp32) {
      bf16.push_back(float_to_bf16(value));
      value = bf16_to_float(bf16.back());
    }
  }
  [[nodiscard]] const void* data() const {
    return compute == ComputeType::fp32 ? static_cast<const void*>(fp32.data()) : bf16.data();
  }
  [[nodiscard]] void* data() {
    return compute == ComputeType::fp32 ? static_cast<void*>(fp32.data()) : bf16.data();
  }
  /// The stored values as fp32.
  [[nodiscard]] Floats values() const {
    if (compute == ComputeType::fp32) return fp32;
    Floats result;
    for (const std::uint16_t bits : bf16) result.push_back(bf16_to_float(bits));
    return result;
  }
};

/// Relative error that one rounding of an operand, and a few of fp32, may make.
inline double tolerance(ComputeType compute) {
  return compute == ComputeType::fp32 ? 2e-6 : 4.5e-3;
}

inline void expect_near(const Floats& actual, const std::vector<double>& expected,
                        double relative) {
  double scale = 0;
  for (const double value : expected) scale = std::max(scale, std::abs(value));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], relative * (std::abs(expected[i]) + 0.1 * scale)) << i;
  }
}

}  // namespace sluice::engine::testing
