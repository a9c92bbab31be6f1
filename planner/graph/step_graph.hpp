// The step graph: three consecutive optimizer steps of a job under a plan, as tasks on lanes, with
// every byte that a task touches named. The simulator times it and the engine executes it: the same
// object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/machines/lane.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/plans/plan.hpp"
#include "sim/task_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

enum class TaskKind : std::uint8_t {
  data,             ///< launch: the step's tokens and targets are gathered on the host.
  launch,           ///< launch: one group of compute tasks is bound and enqueued.
  load_tokens,      ///< h2d: the step's tokens and targets.
  load_weights,     ///< h2d: high halves (both halves for fp32 compute) of a unit.
  load_experts,     ///< h2d: those experts of a block that tokens go to, after `route`.
  load_gradient,    ///< h2d: running sum of an earlier round (or of the tied head).
  load_activation,  ///< h2d: a record kept on the host.
  load_state,       ///< h2d: optimizer state that lives on the host, for the device's update.
  forward,          ///< compute: embedding or block, one micro-batch.
  route,            ///< compute: a block up to its router, where its experts are loaded after it.
  /// compute: final norm, head, loss and their backward, one micro-batch; without backward in a
  /// forward pass alone (planner/graph/forward_graph.hpp).
  loss,
  recompute,        ///< compute: what the forward pass did not keep.
  backward,         ///< compute: block or embedding, one micro-batch.
  combine,          ///< compute: adds the tied head's gradient to the embedding's.
  norm,             ///< compute: fixed-block sums of squares of a unit's gradient.
  grads,            ///< compute: of zero length; the step's last gradient and the norm are known.
  save_activation,  ///< d2h: a record to be kept on the host.
  store_gradient,   ///< d2h: a gradient, to wait or to be used on the host.
  store_state,      ///< d2h: updated optimizer state, to where it lives on the host.
  update,           ///< cpu/compute: fused AdamW of a unit, or of a piece of one.
  read_state,       ///< disk_read: a piece of state into a host buffer, for its update.
  write_state,      ///< disk_write: an updated piece of state.
  write_gradient,   ///< disk_write: a piece of a gradient, to wait for the norm.
  read_gradient,    ///< disk_read: a piece of a waiting gradient, behind the state that it updates.
  read_weights,     ///< disk_read: a piece of a unit's weights, for a pass or for their update.
  write_weights,    ///< disk_write: an updated piece of a unit's weights.
};
const char* to_string(TaskKind kind);

/// The memories in which tensors have offsets. The disk arena is a file, without addresses.
enum class Arena : std::uint8_t { device, host, disk };
inline constexpr std::size_t kArenas = 3;
const char* to_string(Arena arena);

/// The meaning of a byte range to the task that touches it.
enum class Role : std::uint8_t {
  /// int32 [batch_size, seq_len]: inputs, then as many targets. Where a document begins inside a
  /// sequence, the input is ~token.
  tokens,
  /// uint16 [padded]: the unit's high halves; for fp32 compute its low halves follow, uint16
  /// [padded].
  weights,
  tied_weights,  ///< The embedding's weights, for the loss of a tied head.
  /// uint16 [padded]: the unit's low halves where they are not part of `weights` (host masters,
  /// bf16 resident state).
  low,
  moment1,  ///< fp32 [padded]: Adam's m.
  moment2,  ///< fp32 [padded]: Adam's v.
  /// fp32 [padded]: running sum (bf16 [padded] on the last store when the wire is bf16).
  gradient,
  /// fp32 [padded of embed]: lm_head's gradient of a tied head, a running sum of its own; written
  /// by `loss`, added by `combine` onto the embedding's.
  tied_gradient,
  input,  ///< [tokens, hidden]: x, the unit's input stream, inside its record or in a stream
          ///< buffer.
  /// What the block's activation record keeps beyond x: begins at input_bytes of the record
  /// (planner/graph/record.hpp); absent where only x is kept.
  record,
  next_input,   ///< Residual stream written for the following unit: its record's x.
  full_record,  ///< Where recomputation rebuilds the record, and where the backward pass reads it.
  /// [tokens, hidden] of the compute type: d loss / d residual stream of one micro-batch.
  stream_gradient,
  workspace,    ///< Scratch of one compute task.
  norm_blocks,  ///< [blocks of the unit] of double: fixed-block sums of squares, scratch.
  norm_sum,     ///< [1] of double: the sum of a unit's norm_blocks; for `grads` [units].
  loss_sum,     ///< [micro_batches] of double: summed cross-entropy of each micro-batch.
  /// [micro_batches] of double: the balancing loss of each micro-batch's experts times its
  /// coefficient; only with a router_aux_loss_coef.
  balance_loss,
  /// A block's rotated keys, then its values: [context, kv_heads x head_dim] each, of the compute
  /// type.
  key_values,
  /// int32 [experts + 1]: number of routes to the experts before each, then of all routes.
  routes,
  logits,       ///< fp32 [vocab]: logits of a pass's last token, in place of `loss_sum`.
  source,       ///< The range that a copy reads.
  destination,  ///< The range that a copy writes.
};

enum class Mode : std::uint8_t { read, write, update };

enum class TensorIndex : std::uint32_t {};

/// Smallest alignment of any placement's offset.
inline constexpr Bytes kPlacementAlign{256};

/// A range of bytes in one arena, with one offset for the whole run.
struct StepTensor {
  Arena arena;
  std::string name;
  Bytes bytes;
  /// The tensor's row in memory tables: "weights", "gradients", "state", "activations",
  /// "workspace", ...
  std::string part;
  bool persistent =
      /// Holds its value between steps (state, resident weights), so it never shares bytes.
      false;
  Bytes alignment{256};  ///< Alignment of the tensor's offset; at least kPlacementAlign.
};

struct Access {
  Role role;
  TensorIndex tensor;
  Bytes offset{0};  ///< First byte, from the tensor's start.
  Bytes bytes{0};
  Mode mode = Mode::read;
};

/// What the engine must do for a task; parallel to the graph's tasks.
struct StepTask {
  TaskKind kind;
  LaneKind lane;
  int step = 1;  ///< The step, 1 to 3.
  int round = 0;
  int unit = 0;         ///< Index into the plan's units.
  int micro_batch = 0;  ///< Number within the step, 0 to micro_batches - 1.
  int chunk = 0;        ///< Number of a copy's chunk.
  bool first =
      false;       ///< First micro-batch of the step: the gradient is overwritten, not added to.
  Bytes bytes{0};  ///< Bytes moved over the link (for load_experts, on average); zero for compute.
  /// Range of the unit's parameters that an update updates.
  std::int64_t first_parameter = 0, parameters = 0;
  Work work{};     ///< FLOPs and bytes of a compute task, parameters of an update.
  CostKey cost{};  ///< The task's cost key in calibration.
  std::vector<Access> accesses{};
};

/// Offset of a tensor. Its live range within one step is from the start of `first_task` to the end
/// of `last_task` (ids of step 2; a range that ends in the following step names a task of step 3).
struct Placement {
  TensorIndex tensor;
  Bytes offset;
  sim::TaskId first_task;
  sim::TaskId last_task;
};

struct Layout {
  std::vector<Placement> placements;  ///< Placements of all tensors, in tensor order.
  Bytes device_bytes{0};              ///< Size of the device arena, which is the peak use.
  Bytes host_bytes{0};
  Bytes disk_bytes{0};  ///< Size of the file for state on disk.

  [[nodiscard]] Bytes bytes(Arena arena) const {
    return arena == Arena::device ? device_bytes : arena == Arena::host ? host_bytes : disk_bytes;
  }
  [[nodiscard]] Bytes& bytes(Arena arena) {
    return arena == Arena::device ? device_bytes : arena == Arena::host ? host_bytes : disk_bytes;
  }
};

struct StepGraph {
  /// Tasks with ids "s1/..." to "s3/..."; the period is from s2/grads to s3/grads.
  sim::TaskGraph graph;
  std::vector<StepTask> tasks;
  std::vector<StepTensor> tensors;
  Layout layout;
  /// Pieces of each unit's state on disk; empty where its state is not on the disk.
  std::vector<std::vector<DiskPiece>> disk;
  Bytes rope_tables{0};  ///< Bytes of a CUDA device's RoPE tables, outside the arena.
  /// Tasks of one step: task i of step n is task i + tasks_per_step of step n + 1.
  std::size_t tasks_per_step = 0;
};

}  // namespace sluice::planner
