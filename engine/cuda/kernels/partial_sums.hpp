// Last stage of column reductions: partial sums of blocks are added up to one row.
#pragma once

#include <cstdint>

#include "engine/cuda/kernels/into.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Adds up partial sums of columns: sums[c] = or += (as `into` says) the sum over p of partials[p,
/// c], in a fixed order that depends on `parts` alone, with partials fp32 [parts, columns].
void sum_partials(CUstream_st* stream, const float* partials, std::int64_t parts,
                  std::int64_t columns, float* sums, Into into);

}  // namespace sluice::engine::cuda
