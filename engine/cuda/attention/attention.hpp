// Causal grouped-query scaled-dot-product attention on a CUDA device, through cuDNN's fused kernels
// or, where planner::computed_in_tiles says so, own ones: bf16 in and out, fp32 scores, softmax and
// sums.
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
  /// Limits by which the backward pass is cut into runs (calls of a kernel), see
  /// planner::attention_backward_part. Jobs use the default, whose scratch planner::cuda_workspace
  /// counts.
  planner::AttentionLimits limits = {};
};

/// Causal attention of one shape, forward and backward. q, k and v point to the first token's first
/// head of query, key and value; head h of token t of sequence s is at (s * length + t) * qkv_row +
/// h * head_dim. d_q, d_k and d_v have the strides of q, k and v; out and d_out have rows of
/// out_row elements. Addresses are multiples of 16 bytes. If the shape has documents, `starts` is
/// int32 [sequences, length]: the position, in its sequence, of the first token of each token's
/// document; null otherwise. One GPU and library always choose the same kernels, so with
/// GradientOrder::fixed bits repeat from run to run.
class CudaAttention {
 public:
  /// Compiles the kernels of both passes for `cudnn`'s device, which takes no device memory.
  /// Kernels are loaded on their first run, which takes 2 MiB; nothing is allocated after that.
  /// `cudnn` must outlive this object. Throws BadRequest for an impossible shape, EnvironmentError
  /// if the library does not support the shape on this GPU; where only the cut of a group of heads
  /// into runs is unsupported, the error names the longest sequence that needs no cut.
  CudaAttention(const Cudnn& cudnn, const AttentionShape& shape,
                const AttentionOptions& options = {});
  ~CudaAttention();
  CudaAttention(CudaAttention&&) noexcept;
  CudaAttention& operator=(CudaAttention&&) = delete;  // Its parts refer to one another.

  [[nodiscard]] Bytes forward_workspace() const;
  [[nodiscard]] Bytes backward_workspace() const;
  /// Text that names cuDNN's version and its engines (kernels) for both passes with their settings;
  /// part of the numerics id.
  [[nodiscard]] std::string engines() const;

  /// Forward pass: writes `out`, and to `lse`, fp32 [sequences, heads, length], the logarithm of
  /// the sum of exp of each query's scores, for the backward pass. `workspace` has
  /// forward_workspace() bytes at a multiple of 256. All memory must stay valid until `stream` has
  /// passed the kernels.
  void forward(cudaStream_t stream, const void* q, const void* k, const void* v, void* out,
               float* lse, void* workspace, const std::int32_t* starts = nullptr) const;
  /// Backward pass: overwrites d_q, d_k and d_v with the gradients of q, k and v, from `d_out`,
  /// that of out. `out` and `lse` are as `forward` left them; `workspace` has backward_workspace()
  /// bytes at a multiple of 256.
  void backward(cudaStream_t stream, const void* q, const void* k, const void* v, const void* out,
                const float* lse, const void* d_out, void* d_q, void* d_k, void* d_v,
                void* workspace, const std::int32_t* starts = nullptr) const;

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace sluice::engine
