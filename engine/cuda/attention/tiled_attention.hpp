// Attention whose scores lie in memory, for shapes that cuDNN's fused kernels are not used for
// (planner/scratch/tiled_attention.hpp).
#pragma once

#include <cuda_runtime_api.h>

#include <vector>

#include "engine/cuda/attention/attention_backward.hpp"
#include "engine/cuda/kernels/attention_scores.hpp"
#include "planner/scratch/tiled_attention.hpp"

namespace sluice::engine {

/// Both passes of one shape, with operands and rules of CudaAttention
/// (engine/cuda/attention/attention.hpp). Runs follow each other, and so do blocks of queries
/// within a run, which fixes the order of sums.
class TiledAttention {
 public:
  explicit TiledAttention(const planner::AttentionShape& shape);

  [[nodiscard]] Bytes forward_workspace() const { return space_.forward_end; }
  [[nodiscard]] Bytes backward_workspace() const { return space_.total; }

  /// Operands of the forward pass.
  struct Operands {
    const void* q;
    const void* k;
    const void* v;
    void* out;
    float* lse;
    const std::int32_t* starts;
  };
  void forward(cudaStream_t stream, const Operands& of, void* workspace) const;
  void backward(cudaStream_t stream, const AttentionGradients& of, void* workspace) const;

 private:
  /// First sequence and group of heads of a run.
  struct Origin {
    std::int64_t sequence, kv_head;
  };
  /// Addresses of a run's first query head, key head and result head.
  struct Places {
    std::int64_t query, key, out, lse;
  };
  [[nodiscard]] Places places_of(Origin origin) const;
  [[nodiscard]] cuda::ScoreBlock block_of(const planner::AttentionBlock& range, Origin origin,
                                          const std::int32_t* starts) const;
  template <class Body>
  void for_runs(Body body) const;
  void run_forward(cudaStream_t stream, Origin origin, const Operands& of, void* workspace) const;
  void run_backward(cudaStream_t stream, Origin origin, const AttentionGradients& of,
                    void* workspace) const;

  planner::AttentionShape shape_;
  planner::TiledAttentionPart part_;
  planner::TiledAttentionSpace space_;
  std::vector<planner::AttentionBlock> blocks_;
};

}  // namespace sluice::engine
