// Bias of a projection and its gradient. The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"
#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Adds a bias to every row: y[t, c] += bias[c], with y bf16 [tokens, columns], `stride` elements
/// between rows, and bias bf16. columns and stride are multiples of 8.
void add_bias(CUstream_st* stream, const std::uint16_t* bias, std::int64_t tokens,
              std::int64_t columns, std::int64_t stride, std::uint16_t* y);

/// Column sums: sums[c] = or += (as `into` says) the sum over t of d[t, c]: d bf16 [tokens,
/// columns] with `stride` elements between rows, sums fp32. Partial sums are added up in a fixed
/// order, then onto `sums`. columns and stride are multiples of 8. `workspace` holds
/// column_sum_workspace(tokens, columns) bytes.
void column_sum(CUstream_st* stream, const std::uint16_t* d, std::int64_t tokens,
                std::int64_t columns, std::int64_t stride, float* sums, Into into, void* workspace);
[[nodiscard]] Bytes column_sum_workspace(std::int64_t tokens, std::int64_t columns);

}  // namespace sluice::engine::cuda
