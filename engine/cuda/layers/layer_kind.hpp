// What the layers of one kind compute on a device: their shape, places of their tensors, rotary
// table and attention.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/cuda/attention/attention.hpp"
#include "engine/cuda/kernels/rope.hpp"
#include "engine/host/unit_slots.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/rotary_form.hpp"
#include "planner/models/shape.hpp"

namespace sluice::engine {

/// A range of a block's gradient that no kernel writes: padding, and vectors that training leaves
/// as they are.
struct UnwrittenRange {
  std::int64_t offset, elements;
};

struct CudaLayer {
  planner::ModelShape shape;  ///< The model whose layers are all of this kind.
  BlockSlots slots;
  planner::BlockRecord layout;  ///< Places of intermediates in the record of these layers.
  cuda::RopeTables tables;      ///< Cosines and sines; null where the layer has no positions.
  std::int64_t pairs = 0;       ///< Number of pairs of a head's elements that turn.
  /// Keys visible to a query, where sequences hold documents and that is fewer than a sequence has.
  std::optional<std::int64_t> window_in_documents{};
  /// Attention of whole sequences; null for jobs that compute sequences part by part.
  const CudaAttention* attention = nullptr;
  std::vector<UnwrittenRange> unwritten{};

  [[nodiscard]] bool gated() const { return planner::has_gate(shape.activation); }
  [[nodiscard]] bool is_delta_net() const { return slots.delta.exist(); }
  [[nodiscard]] bool is_latent() const { return slots.latent.exist(); }
  /// Whether attention is computed with wider heads of values than the model has, for they must be
  /// as wide as those of queries.
  [[nodiscard]] bool widens_values() const {
    return is_latent() && shape.latent->value < shape.head_dim;
  }
  /// Elements of a token's row of gate and up of a dense MLP.
  [[nodiscard]] std::int64_t expanded() const { return (gated() ? 2 : 1) * shape.intermediate; }
  /// The projection with which rows of gate and up begin.
  [[nodiscard]] const Projection& expansion() const { return gated() ? slots.gate : slots.up; }
  /// Whether norms and rotation need their general form (engine/cuda/kernels/rotary.hpp).
  [[nodiscard]] bool turns_generally(std::int64_t seq_len) const {
    return planner::turns_generally(shape, seq_len);
  }
};

/// Ranges of the block's gradient that kernels leave; those that they must not leave are refused by
/// require_whole_tensors.
[[nodiscard]] std::vector<UnwrittenRange> unwritten_ranges(const planner::ModelShape& uniform);

/// Throws BadRequest naming the unit where tensors that products or norms take have sizes that are
/// no multiples of planner::kTensorAlign.
void require_whole_tensors(const planner::ModelShape& shape);

}  // namespace sluice::engine
