// Causal grouped-query attention as cuDNN operation graphs, which cuDNN runs as its fused flash
// kernels.
#pragma once

#include "engine/cuda/attention/cudnn.hpp"
#include "engine/cuda/attention/cudnn_plan.hpp"
#include "planner/scratch/attention_shape.hpp"

namespace sluice::engine {

using planner::AttentionShape;
using planner::GradientOrder;

/// Tensors of an attention plan whose addresses the caller gives; the enumerator's value is the
/// tensor's id in cuDNN. A d_ tensor is the gradient of the other. Scalars are in host memory, all
/// else in device memory.
enum class AttentionTensor : std::int64_t {
  q = 1,
  k,
  v,
  out,
  lse,  ///< fp32 [sequences, heads, length]: logarithm of the sum of exp of each query's scores.
  d_out,
  d_q,
  d_k,
  d_v,
  out_sum,  ///< Scratch, fp32 [sequences, heads, length]: sum of d_out * out over head_dim.
  /// Scratch in which d_q is summed, fp32 [sequences, heads, length, head_dim]; only with
  /// GradientOrder::any.
  d_q_sum,
  scale,   ///< fp32: factor of scores.
  one,     ///< fp32: the number 1.
  masked,  ///< fp32: minus infinity, the score of a key that must not be seen.
  /// fp32, only if the shape has a window: its width in tokens, minus (length - queries) where the
  /// shape has fewer queries than keys.
  window,
  keys,     ///< int32: number of keys, `length`; only if the shape has fewer queries than keys.
  queries,  ///< int32: number of queries; only if the shape has fewer queries than keys.
  /// int32 [sequences, queries]: position of the first token of each query's document; only if
  /// sequences hold several documents.
  starts,
};

/// Whether one run of the attention kernel writes complete gradients of keys and values, or parts
/// that its caller sums over several runs.
enum class KeyGradients {
  whole,  ///< Complete gradients: bf16, with the strides of keys and values.
  part,   ///< Terms of the caller's sums: bf16 [length, head_dim] of one head.
};

/// How the keys that one run of the attention kernel reads lie in memory.
enum class KeyRows {
  apart,   ///< Rows of tokens lie qkv_row elements apart, as those of queries and values.
  packed,  ///< Rows of tokens lie without gaps, [length, head_dim] of one head.
};

/// Compiles the forward pass: out = softmax(mask(scale q k^T)) v, and lse. Throws EnvironmentError
/// if no engine of cuDNN supports it on this GPU.
[[nodiscard]] CudnnPlan attention_forward_plan(const Cudnn& cudnn, const AttentionShape& shape);

/// Compiles the backward pass: d_q, d_k, d_v from d_out, out and lse. If the shape has fewer
/// `queries` than keys, q, out, d_out, lse and d_q are bound at their first query. Throws
/// EnvironmentError if no engine of cuDNN supports it on this GPU.
[[nodiscard]] CudnnPlan attention_backward_plan(const Cudnn& cudnn, const AttentionShape& shape,
                                                GradientOrder order,
                                                KeyGradients gradients = KeyGradients::whole,
                                                KeyRows rows = KeyRows::apart);

}  // namespace sluice::engine
