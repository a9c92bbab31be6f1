// Latent attention's own part of a block's attention half: narrow projections with norms behind
// them, heads that are made of them and of a key that they share, and the way back. Attention
// itself has heads of one width: those of values are padded where they are narrower
// (docs/design/attention.md).
#pragma once

#include "engine/cuda/kernels/latent_heads.hpp"
#include "engine/cuda/layers/templates.hpp"

namespace sluice::engine {

/// Latent attention of one call on one block, all kernels of which are enqueued on `stream`.
class CudaTemplates::LatentHalf {
 public:
  /// All of these must outlive the object.
  LatentHalf(CudaTemplates& templates, cudaStream_t stream, const std::uint16_t* weights,
             const CudaRecord& record, std::byte* workspace);

  /// Norm and projections of the token, norms of the narrow ones and projections of these, in the
  /// place of project_qkv.
  void project(std::int64_t tokens);
  /// Rows [q k v] of heads of one width, in the place of CudaTemplates::rotate.
  void rotate(Span span, const std::int32_t* starts, std::uint16_t* rotated) const;
  /// Writes the record's attention from the output of wider heads in the workspace.
  void narrow_output() const;
  /// Writes the output of wider heads to the workspace, and its gradient, which lies at d_qkv, to
  /// d_attention.
  void widen_output() const;
  /// Leaves the gradients of projections in the place of rotated heads, which nothing reads any
  /// more.
  void rotate_backward(const std::int32_t* starts) const;
  /// All projections, from the gradients of heads in the workspace, and the norm before them, in
  /// the place of backward_qkv.
  void backward(float* gradient, cuda::Into into, std::uint16_t* d_stream);

 private:
  /// A projection with a norm behind it.
  struct Narrow {
    const Slot& norm;
    const std::uint16_t* x;  ///< The projection, [tokens, norm.cols].
  };
  /// Where a backward pass adds gradients of weights.
  struct Gradient {
    float* sum;
    cuda::Into into;
  };
  [[nodiscard]] cuda::LatentHeads heads(Span span, const std::int32_t* starts) const;
  [[nodiscard]] std::uint16_t* at(Bytes offset) const;
  [[nodiscard]] const std::uint16_t* recorded(Bytes offset) const;
  /// Norm of a narrow projection in the workspace.
  const std::uint16_t* normalize_narrow(const Narrow& narrow, std::int64_t tokens) const;
  /// Backward pass of the projection `wide` of a narrow one's norm, whose result has the gradient
  /// d, and of that norm. Returns the narrow projection's gradient in the workspace.
  const std::uint16_t* narrow_backward(const Gradient& to, const Narrow& narrow,
                                       const Projection& wide, const std::uint16_t* d);
  /// Backward pass of a projection of x, [tokens, columns], whose result has the gradient d; writes
  /// the gradient of x to d_x.
  void projection_backward(const Gradient& to, const Projection& projection, const std::uint16_t* d,
                           const std::uint16_t* x, std::uint16_t* d_x);

  CudaTemplates& templates_;
  cudaStream_t stream_;
  const std::uint16_t* weights_;
  const CudaRecord& record_;
  std::byte* workspace_;
  const CudaLayer& layer_;
  const planner::CudaLatentWorkspace& space_;
};

}  // namespace sluice::engine
