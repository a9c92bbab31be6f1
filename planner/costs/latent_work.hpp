// Work of latent attention beside attention itself.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/kernels/kernel_work.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Products that make q, k and v of `tokens` tokens: narrow projections, then wide ones of these.
[[nodiscard]] std::vector<Gemm> latent_projections(const ModelShape& shape, std::int64_t tokens);

/// Elements of a token that element-wise kernels of the cuda backend read and write on the way from
/// the projections to attention and behind it: norms of narrow projections, heads put together, and
/// heads of values that become as wide as those of queries and narrow again.
[[nodiscard]] std::int64_t latent_elements(const ModelShape& shape);
/// The same of the backward pass, which computes the heads again.
[[nodiscard]] std::int64_t latent_backward_elements(const ModelShape& shape);

}  // namespace sluice::planner
