// What joins the residual stream, where that is more than a product's addend. The rules of
// engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// out[i] = base[i] + factor * addend[i], all bf16, rounded once; `out` may be `base` or `addend`.
/// elements is a multiple of 8.
void join(CUstream_st* stream, const std::uint16_t* base, const std::uint16_t* addend, float factor,
          std::int64_t elements, std::uint16_t* out);

/// out[i] = factor * in[i], bf16, rounded; `out` may be `in`. elements is a multiple of 8.
void scale(CUstream_st* stream, const std::uint16_t* in, float factor, std::int64_t elements,
           std::uint16_t* out);

}  // namespace sluice::engine::cuda
