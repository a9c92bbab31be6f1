// The step graph: three consecutive optimizer steps of a job under a plan, as tasks on lanes, with
// every byte that a task touches named. The simulator times it and the engine executes it: the same
// object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/graph/among.hpp"
#include "planner/machines/lane.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/plans/plan.hpp"
#include "sim/task_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

enum class TaskKind : std::uint8_t {
  data,          ///< On the launch lane: the step's tokens and targets are gathered on the host.
  launch,        ///< On the launch lane: one group of compute tasks is bound and enqueued.
  load_tokens,   ///< On h2d: copy of the step's tokens and targets.
  load_weights,  ///< On h2d: copy of a unit's high halves (for fp32 compute, of both halves).
  load_experts,  ///< On h2d: copy of those experts of a block that tokens go to, after `route`.
  /// On h2d: copy of a unit's gradient, summed over the rounds before, back to the device, where
  /// this round adds to it.
  load_gradient,
  /// On h2d: copy of a record, or a part of one, that was kept on the host, for the backward pass.
  load_activation,
  /// On h2d: copy of optimizer state that lives on the host, for its update on the device.
  load_state,
  forward,  ///< On compute: forward pass of the embedding or a block for one micro-batch.
  /// On compute: forward pass of a block up to its router, where its experts are loaded after it.
  route,
  /// On compute: final norm, head, loss and their backward pass for one micro-batch; without
  /// backward in a graph of forward passes alone (planner/graph/forward_graph.hpp).
  loss,
  /// On compute: rebuilds what the forward pass of one block and micro-batch did not keep.
  recompute,
  backward,  ///< On compute: backward pass of a block or the embedding for one micro-batch.
  /// On compute: adds the gradient of a tied head to that of the embedding, whose weights it
  /// shares.
  combine,
  /// On compute: adds the sum of later groups of micro-batches to that of the groups before them
  /// (planner/models/group_tree.hpp).
  sum_groups,
  /// On compute: adds the sums of the ranks among which it is of parts of a gradient that this rank
  /// sums: its own in `gradient` and the others' in `received`, along the tree of these ranks
  /// (GroupWalk with a group a rank). The sum takes the place of the own one, or goes to
  /// `destination` where there is one.
  sum_ranks,
  /// On compute: sums of squares of a unit's gradient, for the gradient norm, by fixed blocks of
  /// elements. With several ranks those of the rank's slice alone; `sum_norms` then adds them up.
  norm,
  /// On compute, with several ranks alone: adds the blocks of each unit's norm in order, and copies
  /// the losses of all ranks' micro-batches to host memory.
  sum_norms,
  grads,  ///< On compute, of zero length: the step's last gradient and the gradient norm are known.
  save_activation,  ///< On d2h: copy of a record, or a part of one, to be kept on the host.
  /// On d2h: copy of a unit's gradient to host memory, where it waits for the next round or for its
  /// update, or goes on to the disk.
  store_gradient,
  store_state,  ///< On d2h: copy of updated optimizer state to where it lives on the host.
  update,       ///< On cpu or compute: fused AdamW of a unit, or of a piece of one.
  /// On disk_read: a piece of optimizer state that lives on the disk, into a host buffer for its
  /// update.
  read_state,
  /// On disk_write: an updated piece of optimizer state, from its host buffer to the disk.
  write_state,
  /// On disk_write: a piece of a gradient, which waits on the disk for the next round or for its
  /// update.
  write_gradient,
  /// On disk_read: a piece of a gradient that waited on the disk, into a host buffer: before the
  /// next round adds to the gradient, or for the update, right after the piece of state that it
  /// updates.
  read_gradient,
  /// On disk_read: a piece of a unit's weights that live on the disk, into a host buffer: for a
  /// forward or backward pass, or for the weights' update.
  read_weights,
  /// On disk_write: an updated piece of a unit's weights, from its host buffer to the disk.
  write_weights,
  /// On cpu: one pass of the CPU over numbers of the model, such as its gradients, before the first
  /// or after the last update of the step (Plan::host_passes).
  host_pass,
  /// On fabric: every rank's slice of a unit's weights goes to all ranks, from its place in
  /// `weights` or, where there is one, from `source`; with fp32 compute first of high, then of low
  /// halves.
  gather_weights,
  /// On fabric: parts of a gradient go to the ranks whose slices they belong to.
  exchange_gradients,
  /// On fabric: every rank's norm blocks and losses of the step go to all ranks.
  gather_norms,
  /// On fabric: the ranks of a host wait until all have arrived, so that each finds in the memory
  /// that they share what the others wrote there before.
  barrier,
  /// On d2h: copy of one host's slice of a unit's weights to the memory that the ranks of this host
  /// share.
  store_weights,
};
const char* to_string(TaskKind kind);

/// The memories in which tensors have offsets. Each rank has one of each, but for `shared`, host
/// memory of which each host has one that all of its ranks read and write. The disk arena is a
/// file, without addresses.
enum class Arena : std::uint8_t { device, host, disk, shared };
inline constexpr std::size_t kArenas = 4;
const char* to_string(Arena arena);

/// Role of a byte range in the task that accesses it.
enum class Role : std::uint8_t {
  /// int32 [batch_size, seq_len]: inputs, then as many targets. Where a document begins inside a
  /// sequence, the input is ~token.
  tokens,
  /// uint16 [padded]: high halves of a unit's weights (of a piece, in updates of state on the
  /// disk);
  /// in passes of fp32 compute its low halves follow, uint16 [padded]. `padded` is the unit's
  /// number
  /// of parameters with padding.
  weights,
  /// uint16 [padded]: high halves of the embedding's weights, as the loss of a tied head reads
  /// them; `padded` is its number of parameters with padding.
  tied_weights,
  /// uint16 [padded]: low halves of a unit's weights, which updates access as a range of their own,
  /// apart from the high halves; `padded` is its number of parameters with padding.
  low,
  /// fp32 [padded]: Adam's m of a unit; `padded` is its number of parameters with padding.
  moment1,
  /// fp32 [padded]: Adam's v of a unit; `padded` is its number of parameters with padding.
  moment2,
  /// fp32 [padded]: running sum of a unit's gradient (bf16 [padded] in the step's last copy to the
  /// host when the wire is bf16).
  gradient,
  /// fp32 [padded of the embedding]: gradient of a tied head, a running sum of its own; written by
  /// `loss` tasks, added by `combine` to the embedding's gradient.
  tied_gradient,
  /// fp32 [padded]: sum of the gradients of later groups of micro-batches, which `sum_groups` adds
  /// to `gradient`.
  later_gradient,
  /// fp32 [slices, ranks - 1, parameters of a piece], where the ranks are those among which the
  /// task
  /// is: the other ranks' sums of a piece of each slice that this rank sums, in the order of their
  /// ranks. There is one slice, but for sums inside a host one of each host.
  received,
  /// [tokens, hidden]: x, the residual stream that a unit reads, inside its record or in a stream
  /// buffer.
  input,
  /// Part of a block's activation record beyond x: begins at byte input_bytes of the record
  /// (planner/graph/record.hpp); no task accesses it where only x is kept.
  record,
  /// [tokens, hidden]: the residual stream that a unit writes for the following unit, which reads
  /// it as `input`.
  next_input,
  /// The part of a record that was not kept, where recomputation writes it and the backward pass
  /// reads it.
  full_record,
  /// [tokens, hidden] of the compute type: gradient of the loss with respect to the residual stream
  /// of one micro-batch.
  stream_gradient,
  /// FP8 forms of a block's weights (planner/scratch/cuda_workspace.hpp: fp8_weight_bytes), which
  /// the passes of a step's first round write and those of later rounds read; only where the plan
  /// keeps them (planner/graph/kept_forms.hpp).
  fp8_forms,
  workspace,  ///< Scratch of one compute task, without meaning after it.
  /// double [blocks of kNormBlock elements]: sums of squares of one unit's gradient by block;
  /// scratch.
  norm_blocks,
  norm_sum,  ///< double [1]: sum of one unit's norm_blocks; double [units] for the task `grads`.
  loss_sum,  ///< double [micro-batches of the step]: summed cross-entropy of each micro-batch.
  /// double [micro-batches of the step]: balancing loss of each micro-batch's experts times its
  /// coefficient; only with a router_aux_loss_coef.
  balance_loss,
  /// Keys (after RoPE) of one block for all tokens of the context, then their values: [context,
  /// kv_heads x head_dim] each, of the compute type.
  key_values,
  /// int32 [experts + 1]: for each expert the number of routes to the experts before it; last, the
  /// number of all routes.
  routes,
  /// fp32 [vocab]: logits of the last token, which a forward pass for ForwardGoal::next_token
  /// writes in place of `loss_sum`.
  logits,
  /// One run of bytes a rank, without meaning, which a barrier gathers.
  arrivals,
  source,       ///< The bytes that a copy reads.
  destination,  ///< The bytes that a copy writes.
};

enum class Mode : std::uint8_t { read, write, update };

enum class TensorIndex : std::uint32_t {};

/// Smallest alignment of a tensor's offset in its arena.
inline constexpr Bytes kPlacementAlign{256};

/// A tensor of the step graph: a range of bytes in one arena, with one offset for the whole run.
struct StepTensor {
  Arena arena;
  std::string name;
  Bytes bytes;
  /// Name of the row of memory tables that counts the tensor: "weights", "gradients", "state",
  /// "activations", "workspace", ...
  std::string part;
  /// Whether the tensor holds its value between steps (state, resident weights), so that it never
  /// shares bytes with others.
  bool persistent = false;
  Bytes alignment{256};  ///< Alignment of the tensor's offset; at least kPlacementAlign.
};

struct Access {
  Role role;
  TensorIndex tensor;
  Bytes offset{0};  ///< First byte that is accessed, counted from the tensor's start.
  Bytes bytes{0};
  Mode mode = Mode::read;
  /// How many bytes later the range begins on each following rank: rank r accesses the range that
  /// begins at offset + r x rank_stride. All ranks have the same graph and layout.
  Bytes rank_stride{0};
  /// With Among::host, r is the rank's place on its host instead; with Among::hosts, the number of
  /// its host.
  Among among = Among::all;
};

/// One task of the step graph as the engine executes it: StepGraph::tasks[i] is task i of
/// StepGraph::graph.
struct StepTask {
  TaskKind kind;
  LaneKind lane;
  int step = 1;  ///< Step of the task, 1 to 3.
  int round = 0;
  int unit = 0;  ///< Index of the task's unit in the plan's units.
  /// Number of the micro-batch among those of its rank, 0 to micro_batches / ranks - 1; within the
  /// step it is rank x micro_batches / ranks later.
  int micro_batch = 0;
  int chunk = 0;  ///< Number of the chunk among those of its copy, from 0.
  /// Whether this is a unit's first backward pass in a group of micro-batches, which overwrites the
  /// group's gradient instead of adding to it.
  bool first = false;
  Bytes bytes{0};  ///< Bytes that a copy moves (for load_experts, on average); zero for compute.
  Among among = Among::all;  ///< Ranks of a collective, or those whose sums sum_ranks adds.
  /// Range of the unit's parameters that an update task updates: the first one's index, and their
  /// number.
  std::int64_t first_parameter = 0, parameters = 0;
  Work work{};  ///< FLOPs and bytes of a compute task, or parameters and threads of an update.
  /// Key under which calibration has the task's cost; empty where the graph was written for timing
  /// alone.
  CostKey cost{};
  std::vector<Access> accesses{};
};

/// Offset of one tensor in its arena. Its live range within one step is from the start of
/// `first_task` to the end of `last_task` (tasks of step 2; a range that ends in the following step
/// names a task of step 3).
struct Placement {
  TensorIndex tensor;
  Bytes offset;
  sim::TaskId first_task;
  sim::TaskId last_task;
};

struct Layout {
  std::vector<Placement> placements;  ///< Offset and live range of every tensor, by tensor index.
  Bytes device_bytes{0};  ///< Size of the device arena, which is the layout's peak use of it.
  Bytes host_bytes{0};
  Bytes disk_bytes{0};    ///< Size of the disk arena, a file.
  Bytes shared_bytes{0};  ///< Size of the arena that the ranks of each host share.

  [[nodiscard]] Bytes bytes(Arena arena) const { return this->*size_of(arena); }
  [[nodiscard]] Bytes& bytes(Arena arena) { return this->*size_of(arena); }
  /// Host memory that the arenas of `ranks` ranks on `hosts` hosts take together.
  [[nodiscard]] Bytes host_bytes_of(std::int64_t ranks, std::int64_t hosts) const {
    return host_bytes * ranks + shared_bytes * hosts;
  }

 private:
  static Bytes Layout::*size_of(Arena arena) {
    constexpr Bytes Layout::*kSizes[kArenas] = {&Layout::device_bytes, &Layout::host_bytes,
                                                &Layout::disk_bytes, &Layout::shared_bytes};
    return kSizes[static_cast<std::size_t>(arena)];
  }
};

struct StepGraph {
  /// Simulator's graph of all tasks, with ids "s1/..." to "s3/..."; its period is from s2/grads to
  /// s3/grads.
  sim::TaskGraph graph;
  std::vector<StepTask> tasks;
  std::vector<StepTensor> tensors;
  Layout layout;
  /// Pieces in which each unit's state (with its weights and gradients, where they are there) lies
  /// on the disk, by unit; empty for a unit whose state is elsewhere.
  std::vector<std::vector<DiskPiece>> disk;
  StateType state = StateType::fp32;  ///< Type of the optimizer's state (AdamWSettings::state).
  std::int64_t ranks =
      1;  ///< Number of ranks that execute the graph at the same time (Plan::ranks).
  std::int64_t hosts = 1;  ///< Number of hosts that hold the ranks (Plan::hosts).
  Bytes rope_tables{0};    ///< Bytes of a CUDA device's RoPE tables, outside the arena.
  Bytes fp8_weights{0};  ///< Bytes of a block's weights in FP8 on a CUDA device, outside the arena.
  /// Number of tasks of one step: task i of step n is task i + tasks_per_step of the graph in step
  /// n + 1.
  std::size_t tasks_per_step = 0;
};

/// How many ranges the ranks of a graph of `ranks` ranks on `hosts` hosts have in an access.
[[nodiscard]] inline std::int64_t ranges_of(const Access& access, std::int64_t ranks,
                                            std::int64_t hosts) {
  if (access.rank_stride == Bytes(0)) return 1;
  if (access.among == Among::all) return ranks;
  return access.among == Among::host ? ranks / hosts : hosts;
}

/// Number of the range among these that rank `rank` accesses.
[[nodiscard]] inline std::int64_t range_of(const Access& access, std::int64_t rank,
                                           std::int64_t ranks, std::int64_t hosts) {
  if (access.rank_stride == Bytes(0)) return 0;
  if (access.among == Among::all) return rank;
  return access.among == Among::host ? rank % (ranks / hosts) : rank / (ranks / hosts);
}

/// The exchange of gradients among these ranks.
[[nodiscard]] inline Collective exchange_among(Among among) {
  if (among == Among::all) return Collective::exchange;
  return among == Among::host ? Collective::exchange_inside : Collective::exchange_between;
}

/// The gather of runs among these ranks. Among some of them it takes as long as an exchange: each
/// sends as many bytes to as many others.
[[nodiscard]] inline Collective gather_among(Among among) {
  return among == Among::all ? Collective::gather : exchange_among(among);
}

}  // namespace sluice::planner
