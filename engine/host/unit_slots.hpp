// Places of tensors in the flat vector of their unit's parameters, looked up once by role.
#pragma once

#include <cstdint>

#include "planner/models/shape.hpp"

namespace sluice::engine {

/// Where a tensor of shape [rows, cols] lies in the flat vector of its unit's parameters.
struct Slot {
  std::int64_t offset = 0;  ///< Index of the tensor's first element in the unit's vector.
  std::int64_t rows = 0;    ///< Number of rows; 0 if this model family lacks the tensor.
  std::int64_t cols = 0;
  [[nodiscard]] bool exists() const { return rows != 0; }
  [[nodiscard]] std::int64_t size() const { return rows * cols; }
};

/// A projection's matrix [outputs, inputs] and bias [1, outputs].
struct Projection {
  Slot weight;
  Slot bias;
};

/// Where the tensors of a block's experts lie in the block's vector, if it has any: expert i's
/// tensors lie i * stride elements behind those of expert 0.
struct ExpertSlots {
  Projection router;     ///< Router, [experts, hidden], and its bias.
  Slot correction_bias;  ///< Bias of the choice of experts, [1, experts].
  Projection gate, up, down;
  std::int64_t stride = 0;
  /// Where expert `index`'s tensor lies, given `first`, the place of the same tensor of expert 0.
  [[nodiscard]] Slot of(Slot first, std::int64_t index) const {
    first.offset += index * stride;
    return first;
  }
  /// Where expert `index`'s projection lies, given `first`, the same projection of expert 0.
  [[nodiscard]] Projection of(const Projection& first, std::int64_t index) const {
    return {of(first.weight, index), of(first.bias, index)};
  }
};

/// Where the tensors of a gated delta net lie that attention does not have.
struct DeltaSlots {
  Projection beta, decay;    ///< Projections of a token, [value_heads, hidden].
  Slot conv;                 ///< Weights of the convolution, [channels, taps].
  Slot log_rate, time_bias;  ///< Parameters of decays, [1, value_heads].
  Slot norm;                 ///< Norm of each value head's output, [1, value_dim].
  [[nodiscard]] bool exist() const { return conv.exists(); }
};

/// Where the tensors of latent attention lie that other attention does not have.
struct LatentSlots {
  Projection query;   ///< Narrow projection of which queries are made, if they are.
  Slot query_norm;    ///< Weight of the norm behind `query`, [1, query_rank].
  Projection key;     ///< Narrow projection of which keys and values are made, [rank, hidden].
  Slot key_norm;      ///< Weight of the norm behind `key`, [1, rank].
  Projection shared;  ///< The key that all heads share, [rotated, hidden].
  [[nodiscard]] bool exist() const { return key.weight.exists(); }
};

struct BlockSlots {
  Slot norm_before_attention, norm_after_attention, norm_before_mlp, norm_after_mlp;
  Slot q_norm, k_norm;
  Slot sinks;  ///< A logit of each head, [1, heads].
  /// Projection whose sigmoid multiplies attention's output, or whose silu multiplies a gated delta
  /// net's.
  Projection attention_gate;
  DeltaSlots delta;    ///< What a gated delta net has beside q, k, v, o and the gate.
  LatentSlots latent;  ///< What latent attention has; its q, k and v are made of it.
  Projection q, k, v, o, gate, up, down;
  /// Experts' router and matrices; where blocks have experts, gate, up and down are those of an
  /// expert that all tokens pass through, if there is one.
  ExpertSlots experts;
  /// Row whose sigmoid multiplies the output of the expert that all tokens pass through.
  Slot shared_switch;
  /// Number of elements of the block's parameter vector, padding included.
  std::int64_t padded = 0;
};

struct EndSlots {
  Slot embedding;  ///< Embedding matrix [vocab, hidden] in the embed unit.
  Slot final_norm;
  /// Output matrix [vocab, hidden] in the head unit; absent when tied to the embedding.
  Slot lm_head;
  std::int64_t embed_padded = 0;
  std::int64_t head_padded = 0;
};

[[nodiscard]] BlockSlots block_slots(const planner::ModelShape& shape);
[[nodiscard]] EndSlots end_slots(const planner::ModelShape& shape);

}  // namespace sluice::engine
