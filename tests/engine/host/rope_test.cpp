#include "engine/host/rope.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace sluice::engine {
namespace {

using planner::RopeScaling;

planner::RotaryTable rotated(std::int64_t elements, double theta, const RopeScaling& scaling) {
  return {.theta = theta, .scaling = scaling, .rotated = elements};
}

constexpr std::int64_t kHeadDim = 64;

/// Expects the frequencies that ROPE_INIT_FUNCTIONS of transformers 5.17 return, in fp32.
void expect_frequencies(const planner::RotaryTable& table, const std::vector<double>& expected) {
  const std::vector<double> found = rope_frequencies(table, kHeadDim);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 2e-7 * expected[i]) << "pair " << i;
  }
}

TEST(Rope, LinearIsThatOfTransformers) {
  expect_frequencies(rotated(16, 10000, {.kind = RopeScaling::Kind::linear, .factor = 2}),
                     {0.5, 0.158113882, 0.0500000007, 0.0158113893, 0.00499999989, 0.00158113893,
                      0.000500000024, 0.000158113893});
}

TEST(Rope, Llama3IsThatOfTransformers) {
  expect_frequencies(rotated(16, 10000,
                             {.kind = RopeScaling::Kind::llama3,
                              .factor = 8,
                              .low_freq_factor = 1,
                              .high_freq_factor = 4,
                              .original_max_positions = 256}),
                     {1.0, 0.316227764, 0.100000001, 0.00661310693, 0.00124999997, 0.000395284733,
                      0.000125000006, 3.95284733e-05});
}

TEST(Rope, YarnIsThatOfTransformers) {
  expect_frequencies(
      rotated(16, 10000,
              {.kind = RopeScaling::Kind::yarn, .factor = 4, .original_max_positions = 64}),
      {1.0, 0.237170815, 0.049999997, 0.00790569466, 0.00249999994, 0.000790569466, 0.000250000012,
       7.90569466e-05});
  expect_frequencies(
      rotated(32, 500000,
              {.kind = RopeScaling::Kind::yarn,
               .factor = 8,
               .original_max_positions = 1024,
               .beta_fast = 16,
               .beta_slow = 2}),
      {1.0, 0.440366626, 0.193922758, 0.0667164847, 0.0211533923, 0.0056926515, 0.000911583134,
       0.000401430763, 0.000176776681, 7.78465546e-05, 3.42810235e-05, 1.50962178e-05,
       6.64786967e-06, 2.92749974e-06, 1.28917316e-06, 5.6770881e-07});
  expect_frequencies(rotated(16, 10000,
                             {.kind = RopeScaling::Kind::yarn,
                              .factor = 4,
                              .original_max_positions = 64,
                              .truncate = false}),
                     {1.0, 0.198583528, 0.0255952496, 0.00790569466, 0.00249999994, 0.000790569466,
                      0.000250000012, 7.90569466e-05});
}

TEST(Rope, TablesHaveTheAttentionFactorOfYarnAlone) {
  RopeScaling scaling{.kind = RopeScaling::Kind::yarn,
                      .factor = 4,
                      .original_max_positions = 64,
                      .attention_factor = 1.25};
  const RopeTableValues scaled = rope_table_values(rotated(16, 10000, scaling), kHeadDim, 5);
  ASSERT_EQ(scaled.cos.size(), 5U * 8);
  ASSERT_EQ(scaled.sin.size(), 5U * 8);
  EXPECT_EQ(scaled.cos[0], 1.25F);
  EXPECT_EQ(scaled.sin[0], 0.0F);
  EXPECT_FLOAT_EQ(scaled.cos[3 * 8], 1.25F * std::cos(3.0F));
  EXPECT_FLOAT_EQ(scaled.sin[3 * 8 + 4], 1.25F * std::sin(3.0F * 0.0025F));
  scaling.kind = RopeScaling::Kind::linear;
  EXPECT_EQ(rope_table_values(rotated(16, 10000, scaling), kHeadDim, 1).cos[0], 1.0F);
}

}  // namespace
}  // namespace sluice::engine
