#include "engine/host/quantized.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "engine/host/block_scale.hpp"
#include "engine/model_files/block_fp8.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "planner/scratch/workspace.hpp"
#include "tests/engine/run_plan.hpp"
#include "tests/engine/tiny_model.hpp"

namespace sluice::engine::testing {
namespace {

constexpr float kLargest = 448;

TEST(E4m3, ValuesAreThoseOfCheckpoints) {
  for (int bits = 0; bits < 256; ++bits) {
    const auto number = static_cast<std::uint8_t>(bits);
    const float value = e4m3_value(number);
    if (std::isnan(e4m3_to_float(number))) {
      EXPECT_TRUE(std::isnan(value)) << bits;
    } else {
      EXPECT_EQ(value, e4m3_to_float(number)) << bits;
      EXPECT_EQ(to_e4m3(value), number) << bits;
    }
  }
}

TEST(E4m3, ValuesBetweenTwoNumbersGoToTheNearerAndHalfwayToTheEvenOne) {
  for (int bits = 0; bits < 0x7e; ++bits) {
    const float low = e4m3_value(static_cast<std::uint8_t>(bits));
    const float high = e4m3_value(static_cast<std::uint8_t>(bits + 1));
    const float half = (low + high) / 2;
    EXPECT_EQ(to_e4m3(half), bits % 2 == 0 ? bits : bits + 1) << bits;
    EXPECT_EQ(to_e4m3(std::nextafter(half, 0.0F)), bits) << bits;
    EXPECT_EQ(to_e4m3(std::nextafter(half, kLargest)), bits + 1) << bits;
    EXPECT_EQ(to_e4m3(-std::nextafter(half, kLargest)), (bits + 1) | 0x80) << bits;
  }
  EXPECT_EQ(e4m3_value(to_e4m3(1e30F)), kLargest);
  EXPECT_TRUE(std::isnan(e4m3_value(to_e4m3(std::nanf("")))));
}

TEST(Fp8, E5m2RoundsToTheNearestNumberTiesToEven) {
  constexpr float kMost = 57344;
  for (int bits = 0; bits < 0x7b; ++bits) {
    const float low = e5m2_value(static_cast<std::uint8_t>(bits));
    const float high = e5m2_value(static_cast<std::uint8_t>(bits + 1));
    ASSERT_LT(low, high);
    EXPECT_EQ(to_e5m2(low), bits);
    const float half = (low + high) / 2;
    EXPECT_EQ(to_e5m2(half), bits % 2 == 0 ? bits : bits + 1) << bits;
    EXPECT_EQ(to_e5m2(std::nextafter(half, 0.0F)), bits) << bits;
    EXPECT_EQ(to_e5m2(-std::nextafter(half, kMost)), (bits + 1) | 0x80) << bits;
  }
  EXPECT_EQ(e5m2_value(to_e5m2(1e30F)), kMost);
  EXPECT_TRUE(std::isnan(e5m2_value(to_e5m2(std::nanf("")))));
  EXPECT_EQ(block_scale(0x4780, kE5m2Exponent).scale, 2.0F) << "of 65536";
  EXPECT_EQ(block_scale(0x4760, kE5m2Exponent).scale, 1.0F) << "of 57344";
}

TEST(BlockScale, IsTheSmallestPowerOfTwoThatBringsTheLargestWithinRange) {
  for (std::uint32_t bits = 0; bits < 0x7f80; ++bits) {
    const float largest = bf16_to_float(static_cast<std::uint16_t>(bits));
    const auto [scale, inverse] = block_scale(bits);
    ASSERT_EQ(scale * inverse, 1.0F) << bits;
    ASSERT_LE(largest, kLargest * scale) << bits;
    if (scale > std::numeric_limits<float>::min()) {
      ASSERT_GT(largest, kLargest * (scale / 2)) << bits;
    }
  }
}

TEST(BlockScale, WhatIsNotFiniteMakesEveryProductOfItsBlockNotANumber) {
  for (const std::uint32_t bits : {0x7f80U, 0x7fc0U}) {
    const auto [scale, inverse] = block_scale(bits);
    for (const float value : {0.0F, 1.0F, bf16_to_float(static_cast<std::uint16_t>(bits))}) {
      EXPECT_TRUE(std::isnan(e4m3_value(to_e4m3(value * inverse)) * scale));
    }
  }
}

/// Values of bf16 whose size differs from one block of 128 x 128 to the next, and from row to row.
std::vector<float> blocks_of_values(std::int64_t rows, std::int64_t cols) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  for (std::int64_t i = 0; i < rows * cols; ++i) {
    const auto block = static_cast<int>(i / cols / 128 * 3 + i % cols / 128);
    const auto row = static_cast<int>(i / cols);
    const float value = std::ldexp(normal(random), 7 * (block % 5) - 14 - row % 12);
    values.push_back(bf16_to_float(float_to_bf16(value)));
  }
  return values;
}

TEST(Quantized, BothFormsOfATransposedMatrixAreEqual) {
  constexpr std::int64_t kRows = 300, kCols = 256;  // The last block of rows is not whole.
  const std::vector<float> x = blocks_of_values(kRows, kCols);
  std::vector<float> turned(x.size()), across(x.size()), along(x.size()), of_turned(x.size());
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kCols; ++c) turned[c * kRows + r] = x[r * kCols + c];
  }
  round_across(x.data(), kRows, kCols, across.data());
  round_along(turned.data(), kCols, kRows, of_turned.data());
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t c = 0; c < kCols; ++c) {
      ASSERT_EQ(across[r * kCols + c], of_turned[c * kRows + r]);
    }
  }
  round_along(x.data(), kRows, kCols, along.data());
  EXPECT_NE(along, across);
  EXPECT_NE(along, x);
}

TEST(Quantized, ARoundedMatrixStaysAsItIs) {
  const std::vector<float> x = blocks_of_values(256, 256);
  std::vector<float> once(x.size()), twice(x.size());
  round_along(x.data(), 256, 256, once.data());
  round_along(once.data(), 256, 256, twice.data());
  EXPECT_EQ(once, twice);
}

TEST(Quantized, ProductsWithAWeightAreThoseOfItsRoundedBlocks) {
  constexpr std::int64_t kTokens = 3, kOut = 384, kIn = 256;
  const std::vector<float> w = blocks_of_values(kOut, kIn);
  std::vector<std::uint16_t> high;
  for (const float value : w) high.push_back(float_to_bf16(value));
  std::vector<float> expected(w.size());
  for (std::int64_t top = 0; top < kOut; top += 128) {
    for (std::int64_t left = 0; left < kIn; left += 128) {
      float largest = 0;
      const auto each = [&](auto body) {
        for (std::int64_t r = top; r < top + 128; ++r) {
          for (std::int64_t c = left; c < left + 128; ++c) body(r * kIn + c);
        }
      };
      each([&](std::int64_t i) { largest = std::max(largest, std::abs(w[i])); });
      const float scale = std::exp2(std::ceil(std::log2(largest / kLargest)));
      each([&](std::int64_t i) { expected[i] = e4m3_value(to_e4m3(w[i] / scale)) * scale; });
    }
  }
  const WeightMatrix weight{.high = high.data(), .rows = kOut, .cols = kIn};
  std::vector<float> panel(planner::panel_rows(kOut, kIn) * kIn);
  std::vector<float> x(kTokens * kIn), y(kTokens * kOut), dx(kTokens * kIn);
  for (std::int64_t t = 0; t < kTokens; ++t) x[t * kIn + 100 * t] = 1;  // Picks columns of W.
  multiply_quantized(x.data(), kTokens, weight, panel.data(), y.data());
  std::vector<float> dy(kTokens * kOut);
  for (std::int64_t t = 0; t < kTokens; ++t) dy[t * kOut + 150 * t] = 1;  // Picks rows.
  multiply_transposed_quantized(dy.data(), kTokens, weight, panel.data(), Into::overwrite,
                                dx.data());
  for (std::int64_t t = 0; t < kTokens; ++t) {
    for (std::int64_t o = 0; o < kOut; ++o) {
      ASSERT_EQ(y[t * kOut + o], expected[o * kIn + 100 * t]);
    }
    for (std::int64_t i = 0; i < kIn; ++i) {
      ASSERT_EQ(dx[t * kIn + i], expected[150 * t * kIn + i]);
    }
  }
}

/// A model of fp8_job() whose products neither grow nor vanish from block to block.
TinyModel fp8_model(planner::ComputeType compute) {
  planner::Job job = test::fp8_job();
  job.compute = compute;
  TinyModel model = tiny_model(job);
  for (std::size_t unit = 0; unit < model.weights.size(); ++unit) {
    for (const auto& tensor : planner::unit_tensors(job.model, unit).tensors) {
      if (tensor.rows == 1) continue;
      float* values = model.weights[unit].data() + tensor.offset;
      for (std::int64_t i = 0; i < tensor.size(); ++i) values[i] *= 0.15F;
    }
  }
  return model;
}

double gradient_error(const StepResult& step, const StepResult& exact, std::size_t unit) {
  const std::vector<double> expected(exact.gradients[unit].begin(), exact.gradients[unit].end());
  return relative_error(step.gradients[unit].data(), expected.data(),
                        static_cast<std::int64_t>(expected.size()));
}

// An operand's numbers are off by at most 2^-4, in the mean of squares by 2.6 %, and a product of
// two by sqrt(2) times that. A gradient passes up to nine such products, whose errors add up as
// squares: 11 %. The limit is a third more.
TEST(Fp8Blocks, StayNearFp32AndAreNotBf16) {
  const StepResult exact = run_step(fp8_model(planner::ComputeType::fp32), planner::Keep::all);
  const StepResult bf16 = run_step(fp8_model(planner::ComputeType::bf16), planner::Keep::all);
  const StepResult fp8 = run_step(fp8_model(planner::ComputeType::fp8), planner::Keep::all);
  EXPECT_NEAR(fp8.loss, exact.loss, 5e-3 * exact.loss);
  EXPECT_NE(fp8.loss, bf16.loss);
  for (std::size_t unit = 1; unit + 1 < exact.gradients.size(); ++unit) {
    std::printf("  unit %d: fp8 %.4f, bf16 %.4f\n", static_cast<int>(unit),
                gradient_error(fp8, exact, unit), gradient_error(bf16, exact, unit));
    EXPECT_LT(gradient_error(fp8, exact, unit), 0.12) << unit;
  }
  const std::size_t middle = 2;
  EXPECT_GT(gradient_error(fp8, exact, middle), 2 * gradient_error(bf16, exact, middle));
}

TEST(Fp8Blocks, FirstAndLastBlockAreThoseOfBf16) {
  planner::Job two = test::fp8_job();
  two.model.layers = 2;
  TinyModel model = tiny_model(two);
  const StepResult fp8 = run_step(model, planner::Keep::all);
  model.job.compute = planner::ComputeType::bf16;
  const StepResult bf16 = run_step(model, planner::Keep::all);
  EXPECT_EQ(fp8.loss, bf16.loss);
  EXPECT_EQ(fp8.gradients, bf16.gradients);
}

TEST(Fp8Blocks, WhatIsKeptChangesNoBitAndScratchIsEnough) {
  const TinyModel model = fp8_model(planner::ComputeType::fp8);
  const StepResult all = run_step(model, planner::Keep::all);
  EXPECT_TRUE(all.guards_intact);
  for (const planner::Keep keep : {planner::Keep::input, planner::Keep::selective}) {
    const StepResult other = run_step(model, keep);
    EXPECT_TRUE(other.guards_intact);
    EXPECT_EQ(all.loss, other.loss);
    EXPECT_EQ(all.gradients, other.gradients);
  }
}

}  // namespace
}  // namespace sluice::engine::testing
