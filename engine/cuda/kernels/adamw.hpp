// AdamW on a CUDA device: the operations listed in engine/optimizer/adamw.hpp, with the same bits
// as on the host.
#pragma once

#include <cstdint>
#include <span>

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/small_moments.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// Enqueues on `stream` the AdamW update of elements [begin, end) of a unit's weights and moments;
/// `begin` must be a multiple of 4. `decays`: whether these elements have weight decay. All
/// pointers of `operands` are device addresses, 16-byte aligned; `step`, the step's constants, is
/// in mapped host memory and read when the kernel starts. All must stay valid until the stream has
/// passed. Throws EnvironmentError if the launch is refused.
void adamw_update(const AdamWOperands& operands, std::int64_t begin, std::int64_t end, bool decays,
                  const AdamWStep* step, CUstream_st* stream);

/// Enqueues on `stream` the update of a part of a unit whose moments have fewer than 32 bits, with
/// the bits of the host's (engine/optimizer/small_moments.hpp): its elements begin at element
/// `first` of the unit, a multiple of kMomentBlock, and `spans` are those of the whole unit.
/// `operands.m` and `operands.v` are not used; for all else that adamw_update says holds.
void adamw_update(const AdamWOperands& operands, const SmallMoments& moments,
                  std::span<const AdamWSpan> spans, std::int64_t first, const AdamWStep* step,
                  CUstream_st* stream);

}  // namespace sluice::engine::cuda
