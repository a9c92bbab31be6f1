// Emits the tasks of one step after another into a GraphWriter. The order of emission is a right
// sequential execution; within a lane it is the order in which the lane runs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/graph/buffer_schedule.hpp"
#include "planner/graph/staged_state.hpp"
#include "planner/graph/step_sums.hpp"
#include "planner/graph/step_tensors.hpp"
#include "planner/models/group_tree.hpp"

namespace sluice::planner {

class StepEmitter {
 public:
  /// Emits steps of `job` under `plan`; with several ranks `job` is the part of each
  /// (part_of_rank).
  StepEmitter(GraphWriter& writer, const Job& job, const Plan& plan);
  /// Adds the tasks of step `step` (1, 2 or 3, in this order) and returns its `grads` task, which
  /// ends it.
  sim::TaskId emit(int step);

 private:
  /// Kind of pass for which weights are used; `rebuild` is a forward pass that computes again the
  /// inputs of blocks which were not kept (Plan::checkpoint_interval).
  enum class Direction { forward, rebuild, backward };
  /// One use of a unit's weights by a forward or backward pass of one round.
  struct UnitUse {
    std::size_t unit;
    int round;
    Direction direction;
    bool loads;  ///< Whether the weights are copied to the device for this use.
    /// The weight ring's slot that holds the weights; none where they lie outside the ring.
    std::optional<std::int64_t> slot;
  };

  /// One tensor that a unit's update on the device needs of the host (master weights, m, v, or the
  /// gradient): its bytes on the host, and its bytes on the device during the update.
  struct StagedPart {
    const char* name;
    Range home, staged;
  };

  void plan_uses();
  /// Calls add(unit, direction) for each use of weights in a round's backward pass, last block
  /// first, with the forward passes that rebuild inputs.
  template <class Add>
  void backward_uses(Add add) const;
  void emit_tokens();
  void emit_use(std::size_t use);
  void emit_forward(const UnitUse& use);
  /// Emits a block's forward pass in a plan whose records go through slots
  /// (planner/graph/step_slots.cpp).
  void emit_slot_forward(const UnitUse& use);
  void emit_slot_backward(const UnitUse& use);
  void emit_slot_fetch(std::int64_t record, int round);
  void emit_context_load(std::int64_t record, int round);
  [[nodiscard]] std::vector<Access> context_accesses(std::int64_t m, Direction direction) const;
  /// Emits the forward passes that compute the inputs of a group's blocks again, and the passes of
  /// the CPU between steps (planner/graph/step_program.cpp).
  void emit_rebuild(const UnitUse& use);
  void emit_host_passes(HostPass::Moment moment, const std::vector<sim::TaskId>& after);
  void emit_loss(const UnitUse& use);
  void emit_backward(const UnitUse& use);
  void emit_embed_backward(int round);
  void emit_load(std::size_t use);
  void emit_loads_ahead(std::size_t use);
  [[nodiscard]] std::string load_id(const UnitUse& use) const;
  void emit_gradient_load(std::size_t unit, int round);
  /// Group of a micro-batch: its place on the stack of sums, and whether the micro-batch is the
  /// group's first or last (planner/graph/step_groups.cpp).
  struct InGroup {
    std::int64_t group, place;
    bool first, last;
  };
  [[nodiscard]] InGroup in_group(std::int64_t micro_batch) const;
  /// Device tensor of the sum at place `place` of a unit's stack.
  [[nodiscard]] TensorIndex sum_tensor(std::size_t unit, std::int64_t place) const;
  [[nodiscard]] TensorIndex tied_tensor(std::int64_t place) const;
  /// Emits the additions that follow a group whose last micro-batch has passed the unit.
  void emit_group_sums(std::size_t unit, const InGroup& group, int round);
  /// Emits the same for the gradient of a tied head.
  void emit_tied_group_sums(const InGroup& group, int round);
  void emit_sum(const TaskPlace& place, TensorIndex sum, TensorIndex later);
  /// Number of sums on the stacks when round `round` begins.
  [[nodiscard]] std::int64_t sums_before(int round) const;
  void emit_group_sums_load(std::size_t unit, int round);
  void emit_group_sums_store(std::size_t unit, int round);
  void emit_gradient_loads_ahead(const UnitUse& use);
  /// Emits the copies of what is kept of a record to the host (planner/graph/step_records.cpp).
  void emit_record_save(std::size_t unit, int round, std::int64_t m);
  void emit_record_load(std::size_t item, int round);
  /// The device tensor from which the backward pass of micro-batch `m` reads its record; also emits
  /// the loads of the next records from the host.
  TensorIndex record_for_backward(const UnitUse& use, std::int64_t m);
  /// Emits what follows the last micro-batch of a round for a unit's gradient; with several ranks,
  /// of the last round, their exchanges, and leaves the rest to sum_ranks_of_pending().
  void finish_gradient(std::size_t unit, int round);
  /// Emits what follows a unit's sum of gradients: norm, store and update.
  void emit_gradient_finish(std::size_t unit, int round);
  /// Emits the addition of a tied head's gradient to the embedding's.
  void emit_combine(int round);
  void emit_norm(std::size_t unit, int round);
  /// The gradient on the device as its update reads it: this rank's slice, of the wire's type.
  [[nodiscard]] Range wire_gradient(std::size_t unit) const;
  /// A piece of a rank's slice of a gradient, which is exchanged and summed by itself
  /// (planner/graph/step_ranks.cpp).
  struct RankPiece {
    Role role;          ///< Role::gradient, or Role::tied_gradient for a tied head's.
    std::size_t owner;  ///< Unit to whose vector the gradient belongs.
    TensorIndex tensor;
    std::int64_t first, elements;  ///< Range of the slice's elements.
    Among among;                   ///< Ranks that exchange it and whose sums are added.
  };
  /// Sums over ranks of one unit's gradient that are still to be emitted.
  struct PendingSums {
    std::size_t unit;
    std::vector<RankPiece> pieces;
    /// Number of the first piece among all of the step, from which the receive buffers follow.
    std::size_t first_slot = 0;
    std::size_t exchanged = 0, summed = 0;  ///< Numbers of pieces that were emitted.
  };
  [[nodiscard]] static std::vector<RankPiece> in_two(const std::vector<RankPiece>& pieces);
  [[nodiscard]] bool may_exchange(std::size_t number) const;
  void emit_exchanges();
  /// Emits the share of the pending sums over ranks that falls to one pass when `passes_left` more
  /// follow, and what follows the sums when they are complete; for 0 all that is pending.
  void sum_ranks_of_pending(std::int64_t passes_left);
  /// Emits the pending sums over ranks of the gradient that has the same tensor as that of `unit`.
  void free_gradient(std::size_t unit);
  /// Number of ranks whose sums are added to one.
  [[nodiscard]] std::int64_t ranks_among(Among among) const;
  /// Number of slices of which a rank adds sums: those of its place on all hosts, or its own.
  [[nodiscard]] std::int64_t slices_among(Among among) const;
  /// Accesses of a piece to the gradient, one a slice, and to its receive buffer, as the sum makes
  /// them.
  [[nodiscard]] std::vector<Access> piece_accesses(const RankPiece& piece, std::size_t slot) const;
  [[nodiscard]] TaskPlace piece_place(TaskKind kind, LaneKind lane, const char* what,
                                      std::size_t number) const;
  /// Range of this rank's slice of a plane of weights that lie whole in `weights`: of high halves
  /// (plane 0) or low halves (plane 1).
  [[nodiscard]] Range weights_slice(std::size_t unit, TensorIndex weights,
                                    std::int64_t plane) const;
  /// Access to this rank's slice of a gradient of `unit` that lies whole in `tensor`.
  [[nodiscard]] Access gradient_slice(Role role, std::size_t unit, TensorIndex tensor,
                                      Mode mode) const;
  /// Access to the sum of all ranks' gradients of a unit after the last micro-batch, of which a
  /// rank has its slice.
  [[nodiscard]] Access summed_gradient(std::size_t unit, Mode mode) const;
  /// This rank's slice on the host of a plane of weights: of high halves (plane 0) or low halves
  /// (plane 1).
  [[nodiscard]] Range host_plane(std::size_t unit, std::int64_t plane) const;
  /// Emits the copy of all slices of weights from shared memory for a use, after all ranks of the
  /// host have made the first one of a step possible (planner/graph/step_pulls.cpp).
  void emit_pull(const UnitUse& use, TensorIndex destination,
                 const std::vector<sim::TaskId>& after);
  /// Emits what goes before the first pull of a unit's weights in a step: the barrier of each
  /// host's ranks, and on several hosts the exchange of slices between them.
  void emit_share(std::size_t unit);
  /// Emits the exchange between hosts of a unit's slices, which uses the buffer `buffer`.
  void emit_sent_slices(std::size_t unit, TensorIndex buffer);
  /// Emits the copies of these slices to the host's memory.
  void emit_stored_slices(std::size_t unit, TensorIndex buffer);
  void emit_barrier(std::size_t unit);
  GraphWriter::CopyTasks emit_slice_load(const UnitUse& use, TensorIndex destination,
                                         const std::vector<sim::TaskId>& after);
  /// Range of this rank's slice of a plane of weights that stay on the device: of high halves
  /// (plane 0) or, where they stay there, of low halves (plane 1).
  [[nodiscard]] Range resident_plane(std::size_t unit, std::int64_t plane) const;
  /// Emits the gather of all slices of a unit's weights to `weights`, from this rank's place there
  /// or from its resident slice.
  sim::TaskId emit_gather(const TaskPlace& place, TensorIndex weights,
                          const std::vector<sim::TaskId>& after);
  /// Emits the gather of all slices of weights for a use, after the load of this rank's one where
  /// that is not resident.
  void emit_load_of_ranks(const UnitUse& use, TensorIndex destination,
                          const std::vector<sim::TaskId>& after);
  /// Emits the gather of weights that stay on the device, after their update there.
  void emit_gather_of_updated(std::size_t unit);
  /// Access by which the loss of micro-batch `micro` is written: its summed cross-entropy
  /// (Role::loss_sum) or its balancing loss.
  [[nodiscard]] Access loss_access(Role role, std::int64_t micro) const;
  /// Emits the gather of all ranks' norm blocks and losses, and their sums.
  void emit_sums_of_ranks();
  /// Number of planes of weights in compute: high halves and, for fp32, low halves.
  [[nodiscard]] std::int64_t weight_planes() const { return job_.weight_element().count() / 2; }
  void emit_store(std::size_t unit, int round, TensorIndex destination,
                  const std::vector<sim::TaskId>& after);
  sim::TaskId emit_grads();
  void emit_update(std::size_t unit, const std::vector<sim::TaskId>& after);
  void emit_deferred_updates(sim::TaskId grads);
  void emit_part_load(std::size_t unit, const StagedPart& part,
                      const std::vector<sim::TaskId>& after);
  void emit_state_load(std::size_t unit, const std::vector<sim::TaskId>& after);
  void emit_state_loads_after(const UnitUse& use);
  void emit_state_store(std::size_t unit);
  /// Emits the update of a unit whose state is on the disk (planner/graph/step_disk.cpp).
  /// `gradient` is its gradient tensor in host memory; none where the gradient waits on the disk
  /// too.
  void emit_disk_update(std::size_t unit, std::optional<TensorIndex> gradient,
                        const std::vector<sim::TaskId>& after);
  /// A piece of a gradient that waits on the disk after a round: the id of its tasks, the bytes of
  /// one element, its bytes on the disk, and those in its host buffer.
  struct WaitingPiece {
    std::string id;
    Bytes element;
    Range home, buffer;
  };
  /// Move of the state or the weights of one piece between the disk and a host buffer: read before
  /// the update, written back after it.
  struct PieceMove {
    TaskKind read, write;
    std::string id;
    Range home, buffer;
  };
  [[nodiscard]] std::vector<PieceMove> piece_moves(std::size_t unit, std::size_t piece) const;
  /// Accesses that update a piece in its host buffer: weights, low halves, m and v.
  [[nodiscard]] std::vector<Access> piece_operands(std::size_t unit, std::size_t piece) const;
  [[nodiscard]] WaitingPiece waiting_piece(std::size_t unit, std::size_t piece, int round) const;
  /// Emits the loads of weights that live on the disk for one use: piece by piece into host
  /// buffers, and from there to `destination` on the device.
  void emit_weights_from_disk(const UnitUse& use, TensorIndex destination,
                              const std::vector<sim::TaskId>& after);
  void emit_gradient_to_disk(std::size_t unit, int round);
  /// Emits the load of the gradient's running sum, which waited on the disk since the round before
  /// `round`.
  void emit_gradient_from_disk(std::size_t unit, int round);
  [[nodiscard]] TensorIndex disk_buffer(std::size_t unit, std::size_t piece) const {
    return tensors_.disk_ring.slot(disk_slot_[unit] + static_cast<std::int64_t>(piece));
  }
  /// Plans after which use each unit's state is loaded that passes through the ring
  /// (planner/graph/step_rotation.cpp).
  void plan_rotation();
  /// Plans the loads of `units`, which are updated in this order.
  void plan_rotation_under_backward(const std::vector<std::size_t>& units);
  /// Emits the loads of the ring that follow a use.
  void emit_rotation_after(std::size_t use);
  /// Emits what the update of a unit in the ring still lacks in its slot.
  void emit_rotation_to(std::size_t unit, const std::vector<sim::TaskId>& after);
  [[nodiscard]] TensorIndex state_slot(std::size_t unit) const {
    const std::optional<TensorIndex>& own = tensors_.units[unit].state_slot;
    return own ? *own : tensors_.state_ring.slot(state_slot_[unit]);
  }
  /// Place of the gradient in the slot of a unit that rotates_gradient().
  [[nodiscard]] StagedPart rotating_gradient(std::size_t unit) const;

  /// Kind, lane and sizes of a task for one unit and one micro-batch, with an id such as
  /// "r0/fwd/L1/m2", whose second part is `pass`.
  [[nodiscard]] TaskPlace pass_place(TaskKind kind, LaneKind lane, const char* pass,
                                     std::size_t unit, int round, std::int64_t micro_batch) const;
  sim::TaskId emit_launch(const char* pass, std::size_t unit, int round, Pass work);
  /// Accesses of a pass over `use`'s block to the FP8 forms of its weights that the plan keeps;
  /// none where it keeps none.
  [[nodiscard]] std::vector<Access> form_accesses(const UnitUse& use) const;
  [[nodiscard]] Access input_access(std::size_t unit, std::int64_t m, Mode mode, Role role) const;
  /// Access to the residual stream that `unit` reads for micro-batch `m`: in a stream buffer
  /// (`in_stream`), else in the unit's record.
  [[nodiscard]] Access input_in(bool in_stream, std::size_t unit, std::int64_t m, Mode mode,
                                Role role) const;
  [[nodiscard]] Access weights_access(const UnitUse& use) const;
  [[nodiscard]] Bytes norm_blocks_bytes(std::size_t unit) const;
  [[nodiscard]] Access gradient_access(std::size_t unit, bool first, std::int64_t place = 0) const;
  [[nodiscard]] std::vector<Access> master_accesses(std::size_t unit) const;
  [[nodiscard]] std::vector<StagedPart> staged_parts(std::size_t unit) const;
  /// Stores of staged state that must end before the record of block `unit` is written again,
  /// because they share memory.
  [[nodiscard]] std::vector<sim::TaskId> stores_before_record(std::size_t unit) const;
  [[nodiscard]] Access tokens_access(std::int64_t micro_batch, bool targets) const;
  /// Accesses to the input tokens of a micro-batch, which say where documents begin; empty where
  /// attention ignores documents.
  [[nodiscard]] std::vector<Access> document_accesses(std::int64_t micro_batch) const;
  [[nodiscard]] Access whole(Role role, TensorIndex tensor, Mode mode) const;
  [[nodiscard]] TensorIndex gradient_tensor(std::size_t unit) const;
  /// Buffer of the residual stream that `unit` reads for micro-batch `number` of a round, where it
  /// is not in a record.
  [[nodiscard]] TensorIndex stream(std::size_t unit, std::size_t number) const {
    return tensors_.stream[unit % static_cast<std::size_t>(plan_.stream_buffers)][number];
  }
  /// The unit's name, such as "L0"; empty where tasks have no ids.
  [[nodiscard]] std::string name(std::size_t unit) const {
    return writer_.names_tasks() ? unit_name(job_.model, unit) : std::string();
  }
  [[nodiscard]] Bytes gradient_bytes(std::size_t unit) const {
    return job_.gradient_element() * tensors_.units[unit].parameters;
  }
  [[nodiscard]] bool in_slots() const { return !plan_.saved_records.empty(); }
  [[nodiscard]] std::int64_t saved() const {
    return static_cast<std::int64_t>(plan_.saved_records.size());
  }
  [[nodiscard]] TensorIndex host_record(std::int64_t record) const {
    const std::int64_t round = plan_.micro_batches_per_round;
    return tensors_.units[static_cast<std::size_t>(1 + record / round)]
        .host_records[static_cast<std::size_t>(record % round)];
  }
  [[nodiscard]] std::size_t head() const { return plan_.units.size() - 1; }
  [[nodiscard]] bool is_block(std::size_t unit) const { return unit > 0 && unit < head(); }
  [[nodiscard]] bool last_round(int round) const { return round + 1 == plan_.rounds; }
  [[nodiscard]] std::int64_t micro_batch(int round, std::int64_t m) const {
    return round * plan_.micro_batches_per_round + m;
  }

  GraphWriter& writer_;
  const Job& job_;
  const Plan& plan_;
  StepTensors tensors_;
  BlockRecord record_;
  GroupWalk groups_;
  StepSums sums_;
  std::vector<UnitUse> uses_;  ///< Uses of weights in one step, in the order of the compute lane.
  /// One record that is kept on the host between the forward and the backward pass of its round.
  struct OffloadedRecord {
    std::size_t unit, number;  ///< The block, and the number of the micro-batch within its round.
  };
  /// All records of a round that are kept on the host, in the order in which its backward pass
  /// reads them.
  std::vector<OffloadedRecord> offloaded_;
  /// For each unit the index in `offloaded_` of its first record.
  std::vector<std::size_t> first_item_;
  /// Last compute task of every use of weights so far, over all steps.
  std::vector<sim::TaskId> use_ends_;
  /// For each slot of the weight ring the bytes of the weights that it holds.
  std::vector<Bytes> weights_in_slot_;
  /// For each unit the number of its gradient among those that pass through the device's gradient
  /// ring.
  std::vector<std::int64_t> gradient_slot_;
  /// For each unit the number of its gradient among those that pass through the host's ring of
  /// gradients for CPU updates.
  std::vector<std::int64_t> stage_slot_;
  /// For each unit whose state rotates, its number among these units, in the order of their
  /// updates; the state ring's slot follows from it.
  std::vector<std::int64_t> state_slot_;
  /// For each use of a step, the units whose state is loaded into the ring when it has been
  /// emitted.
  std::vector<std::vector<std::size_t>> rotation_;
  /// For each unit, whether its state is in the ring.
  std::vector<bool> in_ring_;
  /// For each unit the number of its first piece among all pieces on the disk; the disk ring's slot
  /// follows from it.
  std::vector<std::int64_t> disk_slot_;
  std::vector<StagedLoad> staged_;
  /// For each unit the last store of its staged state, in the step before; none where there is
  /// none.
  std::vector<std::optional<sim::TaskId>> staged_stores_;
  /// Index in `staged_` of the next load to emit among those whose staged state has memory of its
  /// own.
  std::size_t next_state_ = 0;
  /// Updates that must end before the next step begins (When::after).
  std::vector<sim::TaskId> barrier_updates_;
  /// Number of uses of weights by which loads may run ahead: the plan's prefetch_depth, limited by
  /// the slots of the weight ring.
  std::int64_t depth_ = 0;
  /// Number of the next record that this round's forward pass stores to the host.
  std::int64_t next_saved_ = 0;
  /// Index in `offloaded_` of the next record to load in this round's backward pass.
  std::size_t next_item_ = 0;
  /// Highest block whose gradient's running sum has not been loaded yet in this round's backward
  /// pass.
  std::size_t next_sum_ = 0;
  /// Sums over ranks that follow the passes of the unit before; none with one rank.
  std::optional<PendingSums> pending_;
  /// Number of pieces of gradients that were exchanged in this step.
  std::size_t next_received_ = 0;
  /// Unit from which on slices are still to be exchanged between hosts in this step, and numbers of
  /// units whose slices were exchanged, and stored in shared memory.
  std::size_t next_sent_ = 0;
  std::int64_t sent_ = 0, stored_ = 0;
  /// Number of the next host buffer to use for weights that come from the disk.
  std::int64_t next_disk_weights_ = 0;
  std::size_t uses_before_step_ = 0;
};

}  // namespace sluice::planner
