#include "engine/host/gated_norm.hpp"

#include <cmath>

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
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * cols;
    const float rstd = rstd_of(x + at, cols, eps);
    for (std::int64_t c = 0; c < cols; ++c) {
      const float gate = z[at + c], open = sigmoid(gate), d = d_y[at + c];
      const float normed = x[at + c] * rstd;
      d_z[at + c] = d * weight[c] * normed * (open * (1 + gate * (1 - open)));
      d_weight[c] += d * normed * (gate * open);
      d_x[at + c] = d * weight[c] * (gate * open);  // dn.
    }
    // With n = x rstd: dx = rstd (dn - n mean(n dn)).
    const float mean = elementwise(planner::ComputeType::fp32).dot(x + at, d_x + at, cols) * rstd /
                       static_cast<float>(cols);
    for (std::int64_t c = 0; c < cols; ++c) {
      d_x[at + c] = rstd * (d_x[at + c] - x[at + c] * rstd * mean);
    }
    elementwise(compute).round(d_x + at, cols);
    elementwise(compute).round(d_z + at, cols);
  }
}

}  // namespace sluice::engine
