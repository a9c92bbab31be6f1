#include "engine/host/gated_norm.hpp"

#include <cmath>
#include <vector>

#include "engine/host/elementwise.hpp"
#include "engine/host/sigmoid.hpp"

namespace sluice::engine {
namespace {

float rstd_of(const float* x, std::int64_t cols, float eps) {
  const float squares = elementwise(planner::ComputeType::fp32).dot(x, x, cols);
  return 1 / std::sqrt(squares / static_cast<float>(cols) + eps);
}

}  // namespace

void gated_norm(planner::ComputeType compute, std::int64_t rows, std::int64_t cols, const float* x,
                const float* z, const float* weight, float eps, float* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * cols;
    const float rstd = rstd_of(x + at, cols, eps);
    for (std::int64_t c = 0; c < cols; ++c) {
      const float gate = z[at + c];
      y[at + c] = weight[c] * (x[at + c] * rstd) * (gate * sigmoid(gate));
    }
    elementwise(compute).round(y + at, cols);
  }
}

void gated_norm_backward(planner::ComputeType compute, std::int64_t rows, std::int64_t cols,
                         const float* x, const float* z, const float* weight, float eps,
                         const float* d_y, float* d_x, float* d_z, float* d_weight) {
  std::vector<float> normed(static_cast<std::size_t>(cols)), d_normed(normed);
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * cols;
    const float rstd = rstd_of(x + at, cols, eps);
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const float gate = z[at + c], open = sigmoid(gate), d = d_y[at + c];
      normed[i] = x[at + c] * rstd;
      d_z[at + c] = d * weight[c] * normed[i] * (open * (1 + gate * (1 - open)));
      d_weight[c] += d * normed[i] * (gate * open);
      d_normed[i] = d * weight[c] * (gate * open);
    }
    // With n = x rstd: dx = rstd (dn - n mean(n dn)).
    const float mean =
        elementwise(planner::ComputeType::fp32).dot(normed.data(), d_normed.data(), cols) /
        static_cast<float>(cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      const auto i = static_cast<std::size_t>(c);
      d_x[at + c] = rstd * (d_normed[i] - normed[i] * mean);
    }
    elementwise(compute).round(d_x + at, cols);
    elementwise(compute).round(d_z + at, cols);
  }
}

}  // namespace sluice::engine
