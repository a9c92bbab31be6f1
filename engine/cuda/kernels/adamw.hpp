// AdamW on a CUDA device: the list of operations of engine/optimizer/adamw.hpp, bit for bit what
// the host computes.
#pragma once

#include <cstdint>

#include "engine/optimizer/adamw.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Updates elements [begin, end) on `stream`; `begin` is a multiple of 4. Every pointer of
/// `operands` is a device address, 16-byte aligned; `step` is one of mapped host memory, read when
/// the kernel starts. All must stay valid until the stream has passed. Throws EnvironmentError if
/// the launch is refused.
void adamw_update(const AdamWOperands& operands, std::int64_t begin, std::int64_t end, bool decays,
                  const AdamWStep* step, CUstream_st* stream);

}  // namespace sluice::engine::cuda
