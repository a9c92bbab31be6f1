#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "engine/host/elementwise.hpp"

namespace sluice::engine {
namespace {

TEST(PlainKernels, SoftmaxIsOneOverTheVisibleKeysAndZeroElsewhere) {
  const PlainKernels& plain = plain_kernels();
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-50, 50);
  std::vector<float> start;
  for (int i = 0; i < 100; ++i) start.push_back(uniform(random));
  std::vector<float> p = start;
  const float lse = plain.softmax(p.data(), 100, 20, 75, 0.25f);
  double total = 0;
  for (std::size_t i = 20; i < 75; ++i) total += std::exp(0.25 * start[i]);
  EXPECT_NEAR(lse, std::log(total), 1e-5);
  double sum = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const bool visible = i >= 20 && i < 75;
    const double expected = visible ? std::exp(0.25 * start[i]) / total : 0;
    EXPECT_NEAR(p[i], expected, 3e-6 * expected);
    sum += p[i];
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  std::vector<float> again = start;
  plain.probabilities(again.data(), 100, 20, 75, 0.25f, lse);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(again[i], p[i], 2e-6);
}

TEST(PlainKernels, ExponentialErrsByLessThanItStates) {
  std::vector<float> x;
  for (int i = 0; i <= 350000; ++i) x.push_back(-87.0f + 0.0005f * static_cast<float>(i));
  std::vector<float> y(x.size());
  plain_kernels().exponential(x.data(), static_cast<std::int64_t>(x.size()), y.data());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    worst = std::max(worst, std::abs(y[i] / std::exp(double{x[i]}) - 1));
  }
  EXPECT_LT(worst, 2.5e-7);
  std::vector<float> far = {-1e30f, -INFINITY, 0.0f, NAN};
  plain_kernels().exponential(far.data(), 4, y.data());
  EXPECT_LT(y[0], 1.3e-38f);
  EXPECT_LT(y[1], 1.3e-38f);
  EXPECT_EQ(y[2], 1.0f);
  EXPECT_TRUE(std::isnan(y[3]));
}

}  // namespace
}  // namespace sluice::engine
