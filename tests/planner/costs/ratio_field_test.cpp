#include "planner/costs/ratio_field.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/kernels/cholesky.hpp"

namespace sluice::planner {
namespace {

PassPlace place(Pass pass, double hidden, double element_share = 0.1, double tokens = 4096) {
  return {
      pass, {std::log(hidden), std::log(128.0), std::log(1024.0), std::log(tokens)}, element_share};
}

TEST(CholeskyFactor, SolvesAndHasTheDeterminant) {
  const auto factor = Cholesky::of({4, 0, 0, 2, 5, 0, 2, 3, 6}, 3);
  ASSERT_TRUE(factor.has_value());
  // (4 2 2; 2 5 3; 2 3 6) (1, 2, 3) = (14, 21, 26)
  const std::vector<double> x = factor->solve({14, 21, 26});
  EXPECT_NEAR(x[0], 1, 1e-12);
  EXPECT_NEAR(x[1], 2, 1e-12);
  EXPECT_NEAR(x[2], 3, 1e-12);
  EXPECT_NEAR(factor->log_determinant(), std::log(64.0), 1e-12);
  EXPECT_FALSE(Cholesky::of({1, 0, 2, 1}, 2).has_value());
}

TEST(RatiosOfPasses, OneMeasuredIsTheRatioOfAllAndLessSureFurtherAway) {
  const RatioField field({{place(Pass::block_forward, 2048), 1.3}});
  const auto near = field.at(place(Pass::block_forward, 2048));
  const auto far = field.at(place(Pass::block_forward, 8192));
  EXPECT_NEAR(near.ratio, 1.3, 1e-12);
  EXPECT_NEAR(far.ratio, 1.3, 1e-12);
  EXPECT_GT(far.deviation, near.deviation);
  // At a measured place the deviation is no more than that between measurements.
  EXPECT_LT(near.deviation, 0.0201);
}

TEST(RatiosOfPasses, EverySizeMakesAPlaceLessSure) {
  const RatioField field({{place(Pass::block_forward, 2048), 1.3}});
  const double near = field.at(place(Pass::block_forward, 2048)).deviation;
  for (std::size_t i = 0; i < PassPlace{}.log_sizes.size(); ++i) {
    PassPlace far = place(Pass::block_forward, 2048);
    far.log_sizes[i] += 4;
    EXPECT_GT(field.at(far).deviation, 1.1 * near) << i;
  }
  // Distance in width matters more than the same distance in sequence length.
  PassPlace wide = place(Pass::block_forward, 2048), longer = wide;
  wide.log_sizes[0] += 0.7;
  longer.log_sizes[2] += 0.7;
  EXPECT_GT(field.at(wide).deviation, 1.2 * field.at(longer).deviation);
}

TEST(RatiosOfPasses, TheyFollowTheShareOfElementWiseKernels) {
  // Small models spend much time in element-wise kernels; their ratio is not that of a large one.
  const RatioField field({{place(Pass::block_forward, 896, 0.25), 0.88},
                          {place(Pass::block_forward, 1536, 0.16), 0.90},
                          {place(Pass::block_forward, 2048, 0.12), 0.92}});
  EXPECT_GT(field.at(place(Pass::block_forward, 4096, 0.06)).ratio, 0.91);
  EXPECT_LT(field.at(place(Pass::block_forward, 512, 0.35)).ratio, 0.88);
}

TEST(RatiosOfPasses, RecomputationErrsLikeForwardPassesAndNotLikeBackwardOnes) {
  const RatioField field({{place(Pass::block_forward, 2048), 0.9},
                          {place(Pass::block_backward, 2048), 1.1},
                          {place(Pass::loss, 2048), 1.0}});
  const double recomputed = field.at(place(Pass::block_recompute_input, 2048)).ratio;
  EXPECT_LT(recomputed, 0.95);
  EXPECT_GT(field.at(place(Pass::block_backward, 2048)).ratio, 1.05);
}

TEST(RatiosOfPasses, WhatVariesMoreThanUsualIsTakenToVaryMore) {
  const std::vector<RatioField::Measured> wild{{place(Pass::loss, 1024), 2.0},
                                               {place(Pass::loss, 1100), 1.95},
                                               {place(Pass::loss, 4096), 1.0},
                                               {place(Pass::loss, 4200), 1.05}};
  const RatioField field(wild);
  EXPECT_NEAR(field.at(place(Pass::loss, 1024)).ratio, 2, 0.05);
  EXPECT_NEAR(field.at(place(Pass::loss, 4096)).ratio, 1, 0.05);
  EXPECT_GT(field.at(place(Pass::loss, 2048)).deviation, 0.1);
}

}  // namespace
}  // namespace sluice::planner
