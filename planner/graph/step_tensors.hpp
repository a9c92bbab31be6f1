// Every tensor that a step touches, by arena, and the rings that streamed ones rotate through.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/graph/graph_writer.hpp"
#include "planner/graph/record.hpp"

namespace sluice::planner {

/// Slots of equal size that successive occupants share; the pool of the same name counts them.
struct Ring {
  std::vector<TensorIndex> slots;
  std::optional<sim::PoolId> pool;

  [[nodiscard]] TensorIndex slot(std::int64_t number) const {
    return slots[static_cast<std::size_t>(number) % slots.size()];
  }
};

/// Tensors of one unit.
struct UnitTensorSet {
  std::int64_t parameters = 0;                  ///< Padded elements.
  std::optional<TensorIndex> master;            ///< host [high | low], without what is on the disk
  std::optional<TensorIndex> disk_weights;      ///< In pieces, as the state is: in place of it.
  std::optional<TensorIndex> moment1, moment2;  ///< Where the state lives: in memory,
  std::optional<TensorIndex> disk_state;        ///< or, low halves too, in pieces on the disk.
  /// device, while the unit's state is there for its update: [low], or [high | low] where no copy
  /// of the weights stays; none where both halves stay.
  std::optional<TensorIndex> staged_master;
  std::optional<TensorIndex> staged_moment1, staged_moment2;
  std::optional<TensorIndex> device_weights;  ///< Resident or transient copy outside the ring.
  std::optional<TensorIndex>
      device_gradient;  ///< Outside the ring: waits in HBM, or embed's and head's.
  std::optional<TensorIndex> host_gradient;
  std::optional<TensorIndex> disk_gradient;  ///< In pieces, as the state is.
  std::vector<TensorIndex> records;          ///< device, by micro-batch of the round.
  std::vector<TensorIndex> host_records;
};

struct StepTensors {
  StepTensors(GraphWriter& writer, const Job& job, const Plan& plan);

  std::vector<UnitTensorSet> units;
  TensorIndex host_tokens, tokens, workspace;
  TensorIndex norm_blocks;                  ///< Of the unit whose norm is being summed.
  TensorIndex loss_sum, norm_sums;          ///< host: double [micro_batches], double [units]
  std::optional<TensorIndex> balance_loss;  ///< host: double [micro_batches]
  std::optional<TensorIndex> full_record;
  std::optional<TensorIndex> tied_gradient;
  /// Inputs outside records: of a unit's number modulo the plan's buffers, by micro-batch.
  std::array<std::vector<TensorIndex>, kMostStreams> stream;
  std::vector<TensorIndex> stream_gradient;  ///< By micro-batch of the round.
  Ring weight_ring, gradient_ring, activation_ring, host_gradient_ring;
  Ring disk_ring;         ///< On the host: pieces that come from the disk and go there,
  Ring disk_weight_ring;  ///< and pieces of weights on their way from there to the device.
  Ring state_ring;        ///< Of units whose gradient and state rotate through the device.
  /// k and v of a split sequence, and their gradients, [seq_len, 2 x kv_heads x head_dim].
  std::optional<TensorIndex> context, context_gradient;

 private:
  void add_units(GraphWriter& writer, const Job& job, const Plan& plan);
  void add_unit(GraphWriter& writer, const Job& job, const Plan& plan, std::size_t unit);
  void add_norm_blocks(GraphWriter& writer);
  void add_streams(GraphWriter& writer, const Job& job, const Plan& plan);
  void add_slots(GraphWriter& writer, const Job& job,
                 const Plan& plan);  // planner/graph/step_rings.cpp
  void add_rings(GraphWriter& writer, const Job& job, const Plan& plan);
};

/// Elements of one partial sum of squares of the gradient norm.
inline constexpr std::int64_t kNormBlock = 4096;

[[nodiscard]] bool is_block(const Plan& plan, std::size_t unit);
/// Does the record of `unit` wait on the host?
[[nodiscard]] bool offloads_record(const Plan& plan, std::size_t unit);
/// Does the input stream of `unit` lie outside its record? True for the head and for blocks whose
/// record is offloaded.
[[nodiscard]] bool input_in_stream(const Plan& plan, std::size_t unit);

/// Bytes of k and v of one micro-batch: its part of the context.
[[nodiscard]] Bytes context_part(const Job& job);

}  // namespace sluice::planner
