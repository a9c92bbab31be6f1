// Causal grouped-query attention as operation graphs that cuDNN runs as its fused flash kernels.
#pragma once

#include "engine/cuda/attention/cudnn.hpp"
#include "engine/cuda/attention/cudnn_plan.hpp"
#include "planner/scratch/attention_shape.hpp"

namespace sluice::engine {

using planner::AttentionShape;
using planner::GradientOrder;

/// The tensors that an attention plan binds. Scalars are in host memory.
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
  out_sum,  ///< fp32 [sequences, heads, length]: the sum over d_out * out.
  d_q_sum,  ///< fp32 [sequences, heads, length, head_dim]; with GradientOrder::any only.
  scale,    ///< fp32: 1 / sqrt(head_dim).
  one,      ///< fp32.
  masked,   ///< fp32: minus infinity.
  window,   ///< fp32; where the shape has a window only. For the last `queries` of `length` only:
            ///< less length - queries.
  keys,     ///< int32: length; where the shape has fewer queries than keys only.
  queries,  ///< int32, likewise.
  starts,   ///< int32 [sequences, queries]: where a query's document begins in its sequence; where
            ///< sequences hold documents only.
};

/// Whether a run's gradients of keys and values are its own, or parts of sums over runs.
enum class KeyGradients {
  whole,  ///< bf16, with the strides of keys and values.
  part,   ///< bf16 [length, head_dim]; of one head only.
};

/// Where a run reads its keys.
enum class KeyRows {
  apart,   ///< qkv_row elements from one to the next, as all else.
  packed,  ///< [length, head_dim]; of one head only.
};

/// out = softmax(mask(scale q k^T)) v, and lse. Throws EnvironmentError if no engine takes it.
[[nodiscard]] CudnnPlan attention_forward_plan(const Cudnn& cudnn, const AttentionShape& shape);

/// d_q, d_k, d_v from d_out, out and lse. The shape may have fewer `queries` than keys; then q,
/// out, d_out, lse and d_q are bound from the first of them on. Throws EnvironmentError if no
/// engine takes it.
[[nodiscard]] CudnnPlan attention_backward_plan(const Cudnn& cudnn, const AttentionShape& shape,
                                                GradientOrder order,
                                                KeyGradients gradients = KeyGradients::whole,
                                                KeyRows rows = KeyRows::apart);

}  // namespace sluice::engine
