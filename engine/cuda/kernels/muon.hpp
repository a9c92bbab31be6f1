// Element-wise parts of Muon on a CUDA device: the operations listed in engine/optimizer/muon.hpp,
// with the same bits as on the host but for the order of the norm's sum.
#pragma once

#include <cstdint>

#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/muon.hpp"

struct CUstream_st;

namespace sluice::engine::cuda {

/// One matrix's part of a unit's update; all pointers are device addresses, 16-byte aligned.
struct MuonOperands {
  std::uint16_t* high;
  std::uint16_t* low;
  float* m;
  const void* gradient;  ///< fp32, or bf16 where `wire` is bf16.
  planner::GradientWire wire;
  MuonMatrix matrix;
  /// Iterate X [side, other], bf16: the matrix itself, or its transpose where it has more rows than
  /// columns.
  std::uint16_t* x;
  double* norms;  ///< [blocks of kNormBlock elements + 1]: sums of squares; the last is of all.
};

/// Enqueues m = momentum m + (1 - momentum) g and X = round(u / max(|u|, eps)). `step`, the step's
/// constants, is in mapped host memory and read when kernels start. All memory must stay valid
/// until the stream has passed. Throws EnvironmentError if a launch is refused.
void muon_start(const MuonOperands& operands, const MuonConstants& constants, const AdamWStep* step,
                CUstream_st* stream);
/// Enqueues the update of the weights by `operands.x`.
void muon_apply(const MuonOperands& operands, const AdamWStep* step, CUstream_st* stream);

}  // namespace sluice::engine::cuda
