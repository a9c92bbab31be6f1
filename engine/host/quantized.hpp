// Matrix products whose operands are rounded to block-scaled FP8 first, on the host: the reference
// of the GPU's (docs/design/fp8.md). A rounded number times its scale is exact in fp32, so that
// products of fp32 numbers stand for products of FP8 numbers.
#pragma once

#include <cstdint>

#include "engine/host/gemm.hpp"

namespace sluice::engine {

/// out[r][c] = x[r][c] rounded to E4M3 with one scale for every 128 columns of a row; x [rows,
/// cols] holds bf16 values.
void round_along(const float* x, std::int64_t rows, std::int64_t cols, float* out);
/// The same with one scale for every 128 rows of a column.
void round_across(const float* x, std::int64_t rows, std::int64_t cols, float* out);

/// multiply() of a weight that is rounded to E4M3 with one scale for every 128 x 128 block.
void multiply_quantized(const float* x, std::int64_t n, const WeightMatrix& weight, float* panel,
                        float* y);
/// multiply_transposed() of such a weight.
void multiply_transposed_quantized(const float* dy, std::int64_t n, const WeightMatrix& weight,
                                   float* panel, Into into, float* dx);

}  // namespace sluice::engine
