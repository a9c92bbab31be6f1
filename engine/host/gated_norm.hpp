// RMS norm whose output is multiplied by the silu of a gate, head by head
// (docs/design/gated-delta-net.md).
#pragma once

#include <cstdint>

#include "planner/models/job.hpp"

namespace sluice::engine {

/// y[r] = weight * x[r] * rstd(x[r]) * silu(z[r]) with rstd(x) = (mean(x^2) + eps)^-1/2. The
/// tensors x, z and y are [rows, cols] and weight is [cols]; y, which may be x, is rounded to
/// `compute`.
void gated_norm(planner::ComputeType compute, std::int64_t rows, std::int64_t cols, const float* x,
                const float* z, const float* weight, float eps, float* y);

/// Backward pass of gated_norm: d_x and d_z from d_y, rounded to `compute`; d_x may be d_y.
/// d_weight [cols] += the weight's gradient, rows in order.
void gated_norm_backward(planner::ComputeType compute, std::int64_t rows, std::int64_t cols,
                         const float* x, const float* z, const float* weight, float eps,
                         const float* d_y, float* d_x, float* d_z, float* d_weight);

}  // namespace sluice::engine
