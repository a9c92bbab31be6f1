// Gradients of experts' biases. The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/expert_product.hpp"
#include "engine/cuda/kernels/into.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Gradients of biases, fp32 [columns] each: sums_g (+)= the sum over rows r of group g of f[r]
/// d[r], from the first row to the last by eights, with d bf16 and f null for 1. columns and the
/// stride of d are multiples of 8.
void accumulate_biases(CUstream_st* stream, const IndexedRows& d, const float* factor,
                       const RowGroups& groups, const GroupMatrices<float>& sums,
                       std::int64_t columns, Into into);

/// Gradient of shares through biases: d_share[r] += d[r] . b_g for every row r of group g.
void add_bias_shares(CUstream_st* stream, const IndexedRows& d, const RowGroups& groups,
                     const GroupBiases& biases, std::int64_t columns, float* d_share);

}  // namespace sluice::engine::cuda
