// Updates of blocks whose weight matrices Muon has, on a CUDA device.
#pragma once

#include <cuda_runtime_api.h>

#include <optional>
#include <vector>

#include "engine/cuda/products/gemm.hpp"
#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/muon.hpp"
#include "planner/models/job.hpp"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::engine {

/// Updates of a job's blocks by the operations listed in engine/optimizer/muon.hpp: momenta and
/// weights by own kernels, Newton-Schulz iterations by products of the table. Calls on one object
/// must not overlap.
class CudaMuon {
 public:
  /// `gemm`: algorithms of the job's matrix products (ensure_gemm_table); the library's first
  /// suggestions without it. Throws EnvironmentError if cuBLASLt cannot start.
  explicit CudaMuon(const planner::Job& job, std::optional<GemmTable> gemm = std::nullopt);

  /// Enqueues the update of block `unit`. `operands` begin with the unit's first element, with
  /// second moments of AdamW's tensors alone; `step` is in mapped host memory and read when kernels
  /// start; `workspace` is that of planner::cuda_workspace. All memory must stay valid until the
  /// stream has passed.
  void update(cudaStream_t stream, std::size_t unit, const AdamWOperands& operands,
              const AdamWStep* step, std::byte* workspace);

 private:
  void update_matrix(cudaStream_t stream, const MuonMatrix& matrix, const AdamWOperands& operands,
                     const AdamWStep* step, std::byte* workspace);

  planner::MuonSettings settings_;
  planner::CudaWorkspace space_;
  CudaGemm gemm_;
  std::vector<MuonUnit> units_;  ///< What is updated how, by unit; empty for embedding and head.
};

}  // namespace sluice::engine
