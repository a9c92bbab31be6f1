#include "engine/host/delta_gates.hpp"

#include <cmath>

#include "engine/host/sigmoid.hpp"

namespace sluice::engine {
namespace {

/// ln(1 + e^x), without overflow.
double softplus(double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }

}  // namespace

void delta_gates(std::int64_t tokens, std::int64_t heads, const DeltaDecay& decay, const float* a,
                 const float* b, float* g, float* beta) {
  for (std::int64_t h = 0; h < heads; ++h) {
    const double rate = std::exp(double{decay.log_rate[h]});
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t at = t * heads + h;
      g[at] = static_cast<float>(-rate * softplus(double{a[at]} + double{decay.time_bias[h]}));
      beta[at] = static_cast<float>(sigmoid(double{b[at]}));
    }
  }
}

void delta_gates_backward(std::int64_t tokens, std::int64_t heads, const DeltaDecay& decay,
                          const float* a, const float* b, const float* d_g, const float* d_beta,
                          float* d_a, float* d_b, const DeltaDecayGradients& gradients) {
  for (std::int64_t h = 0; h < heads; ++h) {
    const double rate = std::exp(double{decay.log_rate[h]});
    double d_rate = 0, d_bias = 0;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const std::int64_t at = t * heads + h;
      const double time = double{a[at]} + double{decay.time_bias[h]};
      const double from_g = double{d_g[at]}, share = sigmoid(double{b[at]});
      const double from_beta = double{d_beta[at]};
      // dg/da = -rate sigma(time); dg/dA_log = g.
      const double d_time = -rate * sigmoid(time) * from_g;
      d_rate += -rate * softplus(time) * from_g;
      d_bias += d_time;
      d_a[at] = static_cast<float>(d_time);
      d_b[at] = static_cast<float>(share * (1 - share) * from_beta);
    }
    gradients.log_rate[h] += static_cast<float>(d_rate);
    gradients.time_bias[h] += static_cast<float>(d_bias);
  }
}

}  // namespace sluice::engine
