// Activations and bounds of scores against double precision.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "engine/host/elementwise.hpp"
#include "tests/engine/host/stored_values.hpp"

namespace sluice::engine::testing {
namespace {

using planner::ComputeType;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Case {
  std::string name;
  ActivationKernels Elementwise::*kernels;
  double (*value)(double gate, double up);
};

double swiglu(double gate, double up) { return gate * sigmoid(gate) * up; }
double geglu(double gate, double up) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (gate + 0.044715 * gate * gate * gate);
  return 0.5 * gate * (1 + std::tanh(inner)) * up;
}
double squared_relu(double, double up) { return up > 0 ? up * up : 0; }
double clamped_swiglu(double gate, double up) {
  const double g = std::min(gate, 7.0);
  return (std::clamp(up, -7.0, 7.0) + 1) * g * sigmoid(1.702 * g);
}

const std::vector<Case> kCases = {{"swiglu", &Elementwise::swiglu, swiglu},
                                  {"geglu", &Elementwise::geglu, geglu},
                                  {"squared_relu", &Elementwise::squared_relu, squared_relu},
                                  {"clamped_swiglu", &Elementwise::clamped_swiglu, clamped_swiglu}};

class Activations : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(Elementwise, Activations, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

/// Central difference of `f` at x; at a bound of an activation, that of the values within it.
template <class Function>
double slope(Function f, double x) {
  constexpr double kStep = 1e-6;
  if (std::abs(x) == 7) x -= std::copysign(2 * kStep, x);
  return (f(x + kStep) - f(x - kStep)) / (2 * kStep);
}

// Gates and projections reach beyond every bound of an activation.
TEST_P(Activations, AndTheirBackwardAgreeWithDouble) {
  const Case& one = GetParam();
  for (const ComputeType compute : {ComputeType::fp32, ComputeType::bf16}) {
    const ActivationKernels& kernels = elementwise(compute).*one.kernels;
    const std::int64_t n = 301;
    const Stored gate(random_floats(n, 1, 20), compute), up(random_floats(n, 2, 9), compute);
    Floats y(n), d_gate(n), d_up = random_floats(n, 3);
    const Floats dy = d_up;
    kernels.forward(gate.data(), up.data(), n, y.data());
    kernels.backward(gate.data(), up.data(), n, d_gate.data(), d_up.data());
    std::vector<double> want_y, want_gate, want_up;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      const double g = gate.fp32[i], u = up.fp32[i];
      want_y.push_back(one.value(g, u));
      want_gate.push_back(dy[i] * slope([&](double x) { return one.value(x, u); }, g));
      want_up.push_back(dy[i] * slope([&](double x) { return one.value(g, x); }, u));
    }
    expect_near(y, want_y, tolerance(compute));
    expect_near(d_up, want_up, tolerance(compute));
    if (one.name != "squared_relu") expect_near(d_gate, want_gate, tolerance(compute));
  }
}

TEST(SquaredRelu, ReadsAndWritesNoGate) {
  const float up[] = {-1, 0, 3};
  float y[3], d_up[] = {5, 5, 5};
  const ActivationKernels& kernels = elementwise(ComputeType::fp32).squared_relu;
  kernels.forward(nullptr, up, 3, y);
  kernels.backward(nullptr, up, 3, nullptr, d_up);
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[2], 9);
  EXPECT_EQ(d_up[0], 0);
  EXPECT_EQ(d_up[2], 30);
}

TEST(Softcap, AndItsBackwardAgreeWithDouble) {
  const std::int64_t n = 333;
  const Floats x = random_floats(n, 1, 300), small = random_floats(n, 2, 0.01F);
  for (const Floats* from : {&x, &small}) {
    Floats y = *from, d(n, 1.0F);
    plain_kernels().softcap(y.data(), n, 0.25F, 30);
    plain_kernels().softcap_backward(y.data(), n, 0.25F, 30, d.data());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double t = std::tanh(0.25 * (*from)[i] / 30);
      EXPECT_NEAR(y[i], 30 * t, 1e-6 * std::abs(30 * t)) << i;
      EXPECT_NEAR(d[i], 0.25 * (1 - t * t), 1e-6) << i;
    }
  }
}

TEST(Softcap, OfLogitsIsPartOfTheGradientOfCrossEntropy) {
  const std::int64_t n = 101;
  const double cap = 5;
  const Floats raw = random_floats(n, 1, 9);
  Floats logits = raw;
  plain_kernels().softcap(logits.data(), n, 1, static_cast<float>(cap));
  const Floats capped = logits;
  double total = 0;
  for (const float logit : capped) total += std::exp(double{logit});
  const Elementwise& kernels = elementwise(ComputeType::fp32);
  const float forward = kernels.capped_cross_entropy(logits.data(), n, 17, 0, 5);
  EXPECT_EQ(logits, capped);
  EXPECT_EQ(forward, kernels.cross_entropy(logits.data(), n, 17, 0));
  EXPECT_EQ(forward, kernels.capped_cross_entropy(logits.data(), n, 17, 0.5F, 5));
  EXPECT_NEAR(forward, std::log(total) - capped[17], 1e-5);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const double t = std::tanh(raw[i] / cap);
    const double p = std::exp(double{capped[i]}) / total;
    EXPECT_NEAR(logits[i], 0.5 * (p - (i == 17 ? 1 : 0)) * (1 - t * t), 1e-6) << i;
  }
}

TEST(Logistic, AgreesWithDouble) {
  const Floats x = random_floats(99, 1, 40);
  Floats y(99);
  plain_kernels().logistic(x.data(), 99, y.data());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], sigmoid(x[i]), 1e-6 * sigmoid(x[i]));
}

}  // namespace
}  // namespace sluice::engine::testing
