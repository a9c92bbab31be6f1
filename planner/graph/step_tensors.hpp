// Every tensor that a step touches, by arena, and the rings of slots for tensors that stream.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "planner/graph/graph_writer.hpp"
#include "planner/graph/record.hpp"
#include "planner/models/slices.hpp"
#include "planner/models/unit_size.hpp"

namespace sluice::planner {

/// Slots of equal size that tensors of one kind use one after another. `pool` counts the bytes of
/// slots in use; none where no task acquires them.
struct Ring {
  std::vector<TensorIndex> slots;
  std::optional<sim::PoolId> pool;

  [[nodiscard]] TensorIndex slot(std::int64_t number) const {
    return slots[static_cast<std::size_t>(number) % slots.size()];
  }
};

/// Tensors of one unit, by place and content; none for what the unit's choices do not need.
struct UnitTensorSet {
  /// Number of the unit's parameters, padding included; with several ranks that of all slices.
  std::int64_t parameters = 0;
  /// Number of parameters of which a rank keeps the state: with one rank all of them.
  std::int64_t slice = 0;
  /// Number of second moments v that a rank keeps.
  std::int64_t second = 0;
  [[nodiscard]] UnitSize slice_size() const { return {slice, second}; }
  /// Master weights on the host, [high | low], less halves that live on the disk.
  std::optional<TensorIndex> master;
  /// Weights in compute of all slices, in the memory that the ranks of a host share, [high] or
  /// [high | low], where ranks pull them whole (pulls_weights); the unit then has no `master`.
  std::optional<TensorIndex> shared_weights;
  /// Low halves of the slice on the host, beside shared high halves; none where they are shared,
  /// too, or on the disk.
  std::optional<TensorIndex> host_low;
  /// Weights on the disk, in pieces; the unit then has no `master`.
  std::optional<TensorIndex> disk_weights;
  /// Adam's m and v where the state lives, in host memory or on the device; none where it is on the
  /// disk.
  std::optional<TensorIndex> moment1, moment2;
  /// This rank's slice of weights that stay on the device and are gathered for each use
  /// (Extent::slice): high halves and, where low halves are there too, these behind them.
  std::optional<TensorIndex> resident_slice;
  /// Low halves of the slice, on the device, beside resident high halves of all slices; with one
  /// rank they are behind the high halves.
  std::optional<TensorIndex> device_low;
  /// Optimizer state on the disk, in pieces: low halves (for bf16 compute), m and v.
  std::optional<TensorIndex> disk_state;
  /// Master weights that are on the device only while the unit's state is there for its update:
  /// [low], or [high | low] where no copy of the weights stays on the device; none where both
  /// halves stay.
  std::optional<TensorIndex> staged_master;
  std::optional<TensorIndex> staged_moment1, staged_moment2;
  /// Slot for the state of embedding and head, where that passes through slots (Staging::ring).
  std::optional<TensorIndex> state_slot;
  /// Weights on the device outside the weight ring: resident ones, or the copy of the embedding or
  /// head that is loaded for use.
  std::optional<TensorIndex> device_weights;
  /// FP8 forms of the weights, where they stay from round to round (kept_form_bytes).
  std::optional<TensorIndex> fp8_forms;
  /// Gradient on the device outside the gradient ring: one that waits in HBM, or that of the
  /// embedding or head.
  std::optional<TensorIndex> device_gradient;
  /// This rank's slice of the sum of all ranks' gradients, where it waits in HBM by itself
  /// (waits_as_slice).
  std::optional<TensorIndex> waiting_slice;
  /// Sums of later groups of micro-batches on the device, by their place on the stack of sums less
  /// one (the gradient is at place 0); none where they pass through a ring with the gradient.
  std::vector<std::optional<TensorIndex>> group_sums;
  std::optional<TensorIndex> host_gradient;
  /// Sums of later groups that wait on the host between rounds beside the gradient, by place less
  /// one.
  std::vector<TensorIndex> host_group_sums;
  /// Gradient on the disk, in pieces (StepGraph::disk): between rounds the running sum, at the end
  /// of a step the gradient that waits there for its update.
  std::optional<TensorIndex> disk_gradient;
  /// Records on the device, by micro-batch of the round; empty where records are kept on the host.
  std::vector<TensorIndex> records;
  std::vector<TensorIndex> host_records;
};

struct StepTensors {
  StepTensors(GraphWriter& writer, const Job& job, const Plan& plan);

  std::vector<UnitTensorSet> units;
  TensorIndex host_tokens, tokens, workspace;
  /// Sums of squares, by block of kNormBlock elements, of the unit whose gradient norm is being
  /// computed; scratch. With several ranks those of all units, and the losses (StepSums).
  TensorIndex norm_blocks;
  /// In host memory: the summed cross-entropy of each micro-batch, double [micro-batches of the
  /// step]; and the sum of squares of each unit's gradient, double [units].
  TensorIndex loss_sum, norm_sums;
  /// In host memory: the balancing loss of each micro-batch's experts, double [micro-batches of the
  /// step]; only with a router_aux_loss_coef.
  std::optional<TensorIndex> balance_loss;
  std::optional<TensorIndex> full_record;
  std::optional<TensorIndex> tied_gradient;
  /// Sums of later groups of a tied head's gradient, by place less one.
  std::vector<TensorIndex> tied_group_sums;
  /// The residual streams that units read and that are in no record, by the unit's number modulo
  /// the plan's stream_buffers, then by micro-batch of the round.
  std::array<std::vector<TensorIndex>, kMostStreams> stream;
  /// Gradients of the residual stream that the backward pass hands from unit to unit, by
  /// micro-batch of the round.
  std::vector<TensorIndex> stream_gradient;
  Ring weight_ring, gradient_ring, activation_ring, host_gradient_ring;
  /// Slots for sums of later groups that travel to and from the host between rounds, by place less
  /// one; slot i belongs to slot i of gradient_ring.
  std::vector<Ring> group_rings;
  /// Host buffers for pieces of state (with their gradients and weights) that come from the disk
  /// for their update and go back.
  Ring disk_ring;
  /// Host buffers for pieces of weights on their way from the disk to the device for a pass.
  Ring disk_weight_ring;
  /// Device slots through which the state of units passes for their update (rotates_state).
  Ring state_ring;
  /// Device buffers for other ranks' sums of a piece of this rank's slice of a gradient.
  Ring receive_ring;
  /// Device buffers through which the slices of the other hosts come to this one's shared memory:
  /// those of ranks with this rank's place, host by host, for each plane of weights in compute.
  Ring share_ring;
  /// Bytes by which ranks tell that they have arrived at a barrier; only where they pull weights.
  std::optional<TensorIndex> arrivals;
  /// Keys and values of all chunks of a split sequence, and their gradients: [seq_len, 2 x kv_heads
  /// x head_dim] of the compute type each.
  std::optional<TensorIndex> context, context_gradient;

 private:
  void add_units(GraphWriter& writer, const Job& job, const Plan& plan);
  void add_unit(GraphWriter& writer, const Job& job, const Plan& plan, std::size_t unit);
  void add_norm_blocks(GraphWriter& writer, const Job& job, const Plan& plan);
  /// Adds the buffers of exchanges (planner/graph/step_ranks.cpp).
  void add_receive_ring(GraphWriter& writer, const Job& job, const Plan& plan);
  /// Adds the shared weights of a unit, and what lies beside them (planner/graph/step_pulls.cpp).
  void add_shared(GraphWriter& writer, const Job& job, const UnitPlan& choice,
                  const std::string& name, UnitTensorSet& set);
  /// Adds what brings shared weights to all hosts, and what barriers gather.
  void add_shares(GraphWriter& writer, const Job& job, const Plan& plan);
  void add_streams(GraphWriter& writer, const Job& job, const Plan& plan);
  void add_slots(GraphWriter& writer, const Job& job,
                 const Plan& plan);  // Defined in planner/graph/step_rings.cpp.
  void add_rings(GraphWriter& writer, const Job& job, const Plan& plan);
  /// Adds the sums of later groups (planner/graph/step_groups.cpp).
  void add_group_sums(GraphWriter& writer, const Job& job, const Plan& plan);
};

[[nodiscard]] bool is_block(const Plan& plan, std::size_t unit);
/// Whether records of `unit` are kept on the host between forward and backward pass.
[[nodiscard]] bool offloads_record(const Plan& plan, std::size_t unit);
/// Whether the residual stream that `unit` reads in its forward pass lies outside its record: for
/// the head, for blocks whose record is kept on the host or whose input is not kept, and for all
/// blocks of a plan with saved_records.
[[nodiscard]] bool input_in_stream(const Plan& plan, std::size_t unit);

/// Bytes of the keys and values of one micro-batch, which is one chunk of a split sequence.
[[nodiscard]] Bytes context_part(const Job& job);

}  // namespace sluice::planner
