// Causal grouped-query attention as cuDNN operation graphs, which cuDNN runs as its fused flash
// kernels.
#pragma once

#include "engine/cuda/attention/cudnn.hpp"
#include "engine/cuda/attention/cudnn_plan.hpp"
#include "planner/scratch/attention_shape.hpp"

namespace sluice::engine {

using planner::AttentionShape;
using planner::GradientOrder;

/// Tensors that are bound to an attention plan; the enumerator's value is the tensor's id in cuDNN.
/// Scalars are in host memory.
enum class AttentionTensor : std::int64_t {
  q = 1,
  k,
  v,
  out,
  lse,  ///< fp32 [sequences, heads, length]: log of the sum of exp of a query's scores.
  d_out,
  d_q,
  d_k,
  d_v,
  out_sum,  ///< fp32 [sequences, heads, length]: sum of d_out * out over head_dim.
  d_q_sum,  ///< fp32 [sequences, heads, length, head_dim]; only with GradientOrder::any.
  scale,    ///< fp32: 1 / sqrt(head_dim).
  one,      ///< fp32: the number 1.
  masked,   ///< fp32: minus infinity.
  /// fp32, only if the shape has a window: its width in tokens, less length - queries where the
  /// shape has fewer queries than keys.
  window,
  keys,     ///< int32: length; only if the shape has fewer queries than keys.
  queries,  ///< int32: queries; only if the shape has fewer queries than keys.
  /// int32 [sequences, queries]: first position of each query's document; only if sequences hold
  /// documents.
  starts,
};

/// Whether one run of the attention kernel writes complete gradients of keys and values, or parts
/// that its caller sums over several runs.
enum class KeyGradients {
  whole,  ///< Complete: bf16, with the strides of keys and values.
  part,   ///< To be summed: bf16 [length, head_dim] of one head.
};

/// How the keys that one run of the attention kernel reads lie in memory.
enum class KeyRows {
  apart,   ///< Rows qkv_row elements apart, like all other tensors.
  packed,  ///< Rows without gaps, [length, head_dim] of one head.
};

/// Plan of the forward pass: out = softmax(mask(scale q k^T)) v, and lse. Throws EnvironmentError
/// if no engine supports it.
[[nodiscard]] CudnnPlan attention_forward_plan(const Cudnn& cudnn, const AttentionShape& shape);

/// Plan of the backward pass: d_q, d_k, d_v from d_out, out and lse. If the shape has fewer
/// `queries` than keys, q, out, d_out, lse and d_q are bound at their first query. Throws
/// EnvironmentError if no engine supports it.
[[nodiscard]] CudnnPlan attention_backward_plan(const Cudnn& cudnn, const AttentionShape& shape,
                                                GradientOrder order,
                                                KeyGradients gradients = KeyGradients::whole,
                                                KeyRows rows = KeyRows::apart);

}  // namespace sluice::engine
