// Causal grouped-query scaled-dot-product attention on a CUDA device, through cuDNN's fused
// kernels: bf16 in and out, fp32 scores, softmax and sums.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>

#include "engine/cuda/attention/cudnn.hpp"
#include "planner/scratch/attention_shape.hpp"

namespace sluice::engine {

using planner::AttentionShape;
using planner::GradientOrder;

struct AttentionOptions {
  GradientOrder order = GradientOrder::fixed;
  /// The backward pass runs in parts (planner::attention_backward_part) within these. Jobs use the
  /// default, which planner::cuda_workspace counts.
  planner::AttentionLimits limits = {};
};

/// Attention of one shape. q, k and v are the first elements of the first token's heads of query,
/// key and value; head h of token t of sequence s is at (s * length + t) * qkv_row + h * head_dim.
/// d_q, d_k and d_v have the strides of q, k and v; out and d_out have rows of out_row. Addresses
/// are multiples of 16 bytes. Where the shape has documents, `starts` is int32 [sequences, length]:
/// the position in its sequence of the first token of each token's document; null otherwise. One
/// GPU and library always pick the same kernels, so with GradientOrder::fixed bits repeat from run
/// to run.
class CudaAttention {
 public:
  /// Builds both plans on `cudnn`'s device, which takes no device memory; the kernels are loaded
  /// when first run, which takes 2 MiB once for each object (H200, cuDNN 9.14 and 9.19), and
  /// nothing is allocated there after that. `cudnn` must outlive it. Throws BadRequest for a shape
  /// that attention cannot have, EnvironmentError where the library takes no such shape on this
  /// GPU, which names the longest sequence that needs no cut through a group of heads where the cut
  /// is what it does not take.
  CudaAttention(const Cudnn& cudnn, const AttentionShape& shape,
                const AttentionOptions& options = {});
  ~CudaAttention();
  CudaAttention(CudaAttention&&) noexcept;
  CudaAttention& operator=(CudaAttention&&) = delete;  // Its parts refer to one another.

  [[nodiscard]] Bytes forward_workspace() const;
  [[nodiscard]] Bytes backward_workspace() const;
  /// The library's engines and their settings: part of the numerics id.
  [[nodiscard]] std::string engines() const;

  /// `lse` is fp32 [sequences, heads, length]. `workspace` is forward_workspace() bytes at a
  /// multiple of 256. All memory must stay valid until `stream` has passed the kernels.
  void forward(cudaStream_t stream, const void* q, const void* k, const void* v, void* out,
               float* lse, void* workspace, const std::int32_t* starts = nullptr) const;
  /// `out` and `lse` as `forward` left them; d_q, d_k, d_v are overwritten; `workspace` is
  /// backward_workspace() bytes at a multiple of 256.
  void backward(cudaStream_t stream, const void* q, const void* k, const void* v, const void* out,
                const float* lse, const void* d_out, void* d_q, void* d_k, void* d_v,
                void* workspace, const std::int32_t* starts = nullptr) const;

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace sluice::engine
