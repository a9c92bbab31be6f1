// Every tensor that a step touches, by arena, and the rings of slots for streamed ones.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/graph/graph_writer.hpp"
#include "planner/graph/record.hpp"

namespace sluice::planner {

/// Slots of equal size that tensors of one kind use one after another; the pool of the same name
/// counts them.
struct Ring {
  std::vector<TensorIndex> slots;
  std::optional<sim::PoolId> pool;

  [[nodiscard]] TensorIndex slot(std::int64_t number) const {
    return slots[static_cast<std::size_t>(number) % slots.size()];
  }
};

/// Tensors of one unit.
struct UnitTensorSet {
  std::int64_t parameters = 0;  ///< Elements of the unit's vector, padding included.
  /// Master weights on the host, [high | low], without halves that are on the disk.
  std::optional<TensorIndex> master;
  /// Weights on the disk, in pieces, in place of `master`.
  std::optional<TensorIndex> disk_weights;
  /// Adam's m and v in memory, where the state lives there.
  std::optional<TensorIndex> moment1, moment2;
  /// The state on the disk, in pieces, low halves included.
  std::optional<TensorIndex> disk_state;
  /// Master weights on the device while the unit's state is there for its update: [low], or [high |
  /// low] where no copy of the weights stays on the device; none where both halves stay.
  std::optional<TensorIndex> staged_master;
  std::optional<TensorIndex> staged_moment1, staged_moment2;
  /// Weights on the device outside the ring: resident, or a transient copy.
  std::optional<TensorIndex> device_weights;
  std::optional<TensorIndex>
      /// Gradient on the device outside the ring: one that waits in HBM, or embedding's and head's.
      device_gradient;
  std::optional<TensorIndex> host_gradient;
  std::optional<TensorIndex> disk_gradient;  ///< Gradient that waits on the disk, in pieces.
  std::vector<TensorIndex> records;  ///< Records on the device, by micro-batch of the round.
  std::vector<TensorIndex> host_records;
};

struct StepTensors {
  StepTensors(GraphWriter& writer, const Job& job, const Plan& plan);

  std::vector<UnitTensorSet> units;
  TensorIndex host_tokens, tokens, workspace;
  TensorIndex norm_blocks;          ///< Scratch for the unit whose norm is being summed.
  TensorIndex loss_sum, norm_sums;  ///< host: double [micro_batches] and double [units].
  /// host: double [micro_batches]: balancing loss of each micro-batch.
  std::optional<TensorIndex> balance_loss;
  std::optional<TensorIndex> full_record;
  std::optional<TensorIndex> tied_gradient;
  /// Inputs that are in no record, by the unit's number modulo the plan's stream buffers, then by
  /// micro-batch.
  std::array<std::vector<TensorIndex>, kMostStreams> stream;
  /// Gradients of the residual stream, by micro-batch of the round.
  std::vector<TensorIndex> stream_gradient;
  Ring weight_ring, gradient_ring, activation_ring, host_gradient_ring;
  Ring disk_ring;  ///< Host buffers for pieces of state that come from the disk and go back.
  /// Host buffers for pieces of weights on their way from the disk to the device.
  Ring disk_weight_ring;
  /// Device buffers for units whose gradient and state rotate through the device.
  Ring state_ring;
  /// Keys and values of a split sequence, and their gradients, [seq_len, 2 x kv_heads x head_dim].
  std::optional<TensorIndex> context, context_gradient;

 private:
  void add_units(GraphWriter& writer, const Job& job, const Plan& plan);
  void add_unit(GraphWriter& writer, const Job& job, const Plan& plan, std::size_t unit);
  void add_norm_blocks(GraphWriter& writer);
  void add_streams(GraphWriter& writer, const Job& job, const Plan& plan);
  void add_slots(GraphWriter& writer, const Job& job,
                 const Plan& plan);  // Defined in planner/graph/step_rings.cpp.
  void add_rings(GraphWriter& writer, const Job& job, const Plan& plan);
};

/// Elements of one partial sum of squares of the gradient norm.
inline constexpr std::int64_t kNormBlock = 4096;

[[nodiscard]] bool is_block(const Plan& plan, std::size_t unit);
/// Whether the record of `unit` waits on the host.
[[nodiscard]] bool offloads_record(const Plan& plan, std::size_t unit);
/// Whether the input stream of `unit` lies outside its record: for the head, and for blocks whose
/// record is kept on the host.
[[nodiscard]] bool input_in_stream(const Plan& plan, std::size_t unit);

/// Bytes of k and v of one micro-batch: its part of the context.
[[nodiscard]] Bytes context_part(const Job& job);

}  // namespace sluice::planner
