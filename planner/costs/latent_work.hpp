// Work of latent attention's projections.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/kernels/kernel_work.hpp"
#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Products that make q, k and v of `tokens` tokens: narrow projections, then wide ones of these.
[[nodiscard]] std::vector<Gemm> latent_projections(const ModelShape& shape, std::int64_t tokens);

}  // namespace sluice::planner
