// Norms and rotation of queries and keys against double precision.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/host/elementwise.hpp"
#include "tests/engine/host/stored_values.hpp"

namespace sluice::engine::testing {
namespace {

using planner::ComputeType;

class HeadNorms : public ::testing::TestWithParam<ComputeType> {};

INSTANTIATE_TEST_SUITE_P(Elementwise, HeadNorms,
                         ::testing::Values(ComputeType::fp32, ComputeType::bf16),
                         [](const auto& info) {
                           return info.param == ComputeType::fp32 ? "fp32" : "bf16";
                         });

constexpr std::int64_t kDim = 22;
constexpr std::int64_t kPairs = 5;  // The last twelve elements do not turn.

double reciprocal_rms(const Floats& x, double eps) {
  double squares = 0;
  for (const float each : x) squares += double{each} * each;
  return 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
}

TEST_P(HeadNorms, ComeBeforeARotationOfLeadingElements) {
  const Elementwise& kernels = elementwise(GetParam());
  const Stored x(random_floats(kDim, 1), GetParam());
  const Floats weight = random_floats(kDim, 2);
  const Floats cos = random_floats(kPairs, 3, 1), sin = random_floats(kPairs, 4, 1);
  const float rstd = kernels.reciprocal_rms(x.data(), kDim, 1e-3F);
  EXPECT_NEAR(rstd, reciprocal_rms(x.fp32, 1e-3), 1e-6 * rstd);
  Floats y(kDim);
  kernels.rotary(x.data(), kDim, {cos.data(), sin.data(), kPairs}, weight.data(), rstd, y.data());
  std::vector<double> want;
  for (std::size_t i = 0; i < kDim; ++i) want.push_back(double{x.fp32[i]} * rstd * weight[i]);
  for (std::size_t i = 0; i < kPairs; ++i) {
    const double a = want[i], b = want[i + kPairs];
    want[i] = a * cos[i] - b * sin[i];
    want[i + kPairs] = b * cos[i] + a * sin[i];
  }
  expect_near(y, want, 3 * tolerance(GetParam()));
}

TEST_P(HeadNorms, HaveTheGradientsOfDouble) {
  const Elementwise& kernels = elementwise(GetParam());
  const Stored x(random_floats(kDim, 1), GetParam());
  const Floats weight = random_floats(kDim, 2), dy = random_floats(kDim, 3);
  const float rstd = kernels.reciprocal_rms(x.data(), kDim, 1e-3F);
  double mixed = 0;
  for (std::size_t i = 0; i < kDim; ++i) mixed += double{dy[i]} * weight[i] * x.fp32[i];
  std::vector<double> want_dx, want_dw;
  const double s = rstd;
  for (std::size_t i = 0; i < kDim; ++i) {
    want_dx.push_back(s * dy[i] * weight[i] - x.fp32[i] * s * s * s * mixed / kDim);
    want_dw.push_back(1 + double{dy[i]} * x.fp32[i] * s);
  }
  Floats dx = dy, dw(kDim, 1.0F), again = dy;
  kernels.head_norm_backward(x.data(), kDim, weight.data(), rstd, dw.data(), dx.data());
  kernels.head_norm_backward(x.data(), kDim, weight.data(), rstd, nullptr, again.data());
  expect_near(dx, want_dx, tolerance(GetParam()));
  expect_near(dw, want_dw, 2e-6);
  EXPECT_EQ(dx, again);
}

TEST_P(HeadNorms, WithoutThemAndWithoutPositionsNothingChanges) {
  const Elementwise& kernels = elementwise(GetParam());
  const Stored x(random_floats(kDim, 1), GetParam());
  Floats y(kDim);
  kernels.rotary(x.data(), kDim, {nullptr, nullptr, 0}, nullptr, 1, y.data());
  EXPECT_EQ(y, x.fp32);
  plain_kernels().unrotate(y.data(), {nullptr, nullptr, 0});
  EXPECT_EQ(y, x.fp32);
}

}  // namespace
}  // namespace sluice::engine::testing
