// Operations on a unit's fp32 gradient vector besides accumulation: norm, sum of two vectors,
// rounding to bf16. The rules of engine/cuda/kernels/norm.hpp hold; `elements` may be any count
// from 0.
#pragma once

#include <cstdint>

#include "sim/units.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// First half of the norm of a gradient: blocks[b] = sum of squares, in double, of elements b *
/// 4096 .. (b + 1) * 4096 - 1 (4096 is kNormBlock of engine/host/templates.hpp); the last block may
/// be shorter. `blocks` holds ceil(elements / 4096).
void norm_blocks(CUstream_st* stream, const float* gradient, std::int64_t elements, double* blocks);

/// Second half of the norm of a gradient: *sum = sum of blocks[0 .. count), in an order that
/// depends on `count` alone. `sum` may be mapped host memory.
void sum_blocks(CUstream_st* stream, const double* blocks, std::int64_t count, double* sum);

/// gradient[i] += addend[i] for all `elements`, both fp32.
void combine(CUstream_st* stream, float* gradient, const float* addend, std::int64_t elements);

/// gradient[i] += addend[i] for all `elements`, where gradient is fp32 and addend bf16.
void add_bf16(CUstream_st* stream, float* gradient, const std::uint16_t* addend,
              std::int64_t elements);

/// wire[i] = gradient[i] rounded to bf16. `wire` may start where `gradient` starts: then about
/// log2(elements / 8192) kernels run one after another, each overwriting what an earlier one has
/// read. Any other overlap is refused.
void round_to_bf16(CUstream_st* stream, const float* gradient, std::int64_t elements,
                   std::uint16_t* wire);

/// Zeroes `bytes` bytes at `memory`, of any alignment.
void fill_zero(CUstream_st* stream, void* memory, Bytes bytes);

}  // namespace sluice::engine::cuda
