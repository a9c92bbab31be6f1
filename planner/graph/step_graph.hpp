// The step graph: three consecutive optimizer steps of a job under a plan, as tasks on lanes, with
// every byte that a task touches named. The simulator times it and the engine executes it: the same
// object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/plans/plan.hpp"
#include "sim/task_graph.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Graphs of plans that use no disk have no lanes for it.
enum class LaneKind : std::uint8_t { compute, h2d, d2h, cpu, launch, disk_read, disk_write };
inline constexpr std::size_t kLaneKinds = 7;
const char* to_string(LaneKind lane);  ///< The lane's name in graph files.

enum class TaskKind : std::uint8_t {
  data,             ///< launch: the step's tokens and targets are gathered on the host.
  launch,           ///< launch: one group of compute tasks is bound and enqueued.
  load_tokens,      ///< h2d
  load_weights,     ///< h2d: high halves (both halves for fp32 compute) of a unit.
  load_experts,     ///< h2d: of a block's experts, behind `route`, those that tokens go to.
  load_gradient,    ///< h2d: running sum of an earlier round (or of the tied head).
  load_activation,  ///< h2d: a record kept on the host.
  load_state,       ///< h2d: optimizer state that lives on the host, for the device's update.
  forward,          ///< compute: embed or block, one micro-batch.
  route,            ///< compute: a block up to its router, where its experts are loaded behind it.
  loss,             ///< compute: final norm, head, loss and their backward, one micro-batch; of a
                    ///< forward pass alone (planner/graph/forward_graph.hpp) without backward.
  recompute,        ///< compute: what the forward pass did not keep.
  backward,         ///< compute: block or embed, one micro-batch.
  combine,          ///< compute: tied head's gradient added to the embedding's.
  norm,             ///< compute: fixed-block sums of squares of a unit's gradient.
  grads,            ///< compute, zero length: the step's last gradient and the norm are known.
  save_activation,  ///< d2h
  store_gradient,   ///< d2h
  store_state,      ///< d2h: back to where it lives, updated.
  update,           ///< cpu or compute: fused AdamW of a unit, or of a piece of one.
  read_state,       ///< disk_read: a piece of state into a host buffer, for its update.
  write_state,      ///< disk_write: back, updated.
  write_gradient,   ///< disk_write: a piece of a gradient, to wait for the norm.
  read_gradient,    ///< disk_read: back, behind the state that it updates.
  read_weights,     ///< disk_read: a piece of a unit's weights, for a pass or for their update.
  write_weights,    ///< disk_write: back, updated.
};
const char* to_string(TaskKind kind);

/// The disk's is a file: its tensors have offsets, and no addresses.
enum class Arena : std::uint8_t { device, host, disk };
inline constexpr std::size_t kArenas = 3;
const char* to_string(Arena arena);

/// What a byte range is to the task that touches it.
enum class Role : std::uint8_t {
  tokens,   ///< int32 [batch_size, seq_len] inputs, then as many targets. Where a document begins
            ///< inside a sequence, the input is ~token.
  weights,  ///< Unit's high halves, uint16 [padded]; for fp32 compute low halves follow, uint16
            ///< [padded].
  tied_weights,  ///< For the loss of a tied head: the embedding's weights.
  low,      ///< Unit's low halves where they are not part of `weights` (host masters, bf16 resident
            ///< state).
  moment1,  ///< fp32 [padded]
  moment2,  ///< fp32 [padded]
  gradient,  ///< fp32 [padded] running sum (bf16 [padded] on the last store when the wire is bf16).
  tied_gradient,  ///< fp32 [padded of embed]: lm_head's gradient of a tied head, its own running
                  ///< sum (written by `loss`, read by `combine`, which adds it onto the
                  ///< embedding's).
  input,   ///< x: the unit's input stream, [T, hidden]; inside its record or in a stream buffer.
  record,  ///< What the block's activation record keeps beyond x: the range begins at
           ///< input_bytes of the record (planner/graph/record.hpp); absent where only x is kept.
  next_input,       ///< Residual stream written for the following unit: its record's x.
  full_record,      ///< Where recompute rebuilds the record, and backward reads it.
  stream_gradient,  ///< [T, hidden] of the compute type: d loss / d residual stream of one
                    ///< micro-batch.
  workspace,        ///< Scratch.
  norm_blocks,      ///< double [blocks of the unit]: fixed-block sums of squares, scratch.
  norm_sum,         ///< double [1]: their sum; of `grads`: [units].
  loss_sum,         ///< double [micro_batches]: summed cross-entropy of each micro-batch.
  balance_loss,  ///< double [micro_batches]: the loss that balances each one's experts, times its
                 ///< coefficient; only with a router_aux_loss_coef.
  key_values,  ///< A block's rotated keys, then its values: [context, kv_heads x head_dim] each, of
               ///< the compute type.
  routes,      ///< int32 [experts + 1]: routes to the experts before each, and of all.
  logits,      ///< fp32 [vocab] of a pass's last token; takes the place of `loss_sum`.
  source,      ///< Copy source.
  destination,  ///< Copy destination.
};

enum class Mode : std::uint8_t { read, write, update };

enum class TensorIndex : std::uint32_t {};

/// A range of bytes with one address for the whole run, in one arena.
struct StepTensor {
  Arena arena;
  std::string name;
  Bytes bytes;
  std::string part;  ///< Row of the memory tables: "weights", "gradients", "state", "activations",
                     ///< "workspace", ...
  bool persistent =
      false;  ///< Holds its value between steps (state, resident weights): never shares bytes.
  Bytes alignment{256};  ///< Of its offset; at least kPlacementAlign.
};

struct Access {
  Role role;
  TensorIndex tensor;
  Bytes offset{0};  ///< From the tensor's start.
  Bytes bytes{0};
  Mode mode = Mode::read;
};

/// What the engine must do for a task; parallel to the graph's tasks.
struct StepTask {
  TaskKind kind;
  LaneKind lane;
  int step = 1;  ///< 1, 2 or 3.
  int round = 0;
  int unit = 0;         ///< Index into the plan's units.
  int micro_batch = 0;  ///< Within the step, 0 .. micro_batches - 1.
  int chunk = 0;        ///< Copies: which chunk.
  bool first =
      false;       ///< First micro-batch of the step: the gradient is overwritten, not added to.
  Bytes bytes{0};  ///< Moved over the link (of load_experts, on average); zero for compute.
  std::int64_t first_parameter = 0, parameters = 0;  ///< Of the unit: what an update updates.
  Work work{};     ///< FLOPs and bytes of compute; parameters of updates.
  CostKey cost{};  ///< What calibration knows the task by.
  std::vector<Access> accesses{};
};

/// Where a tensor lies. A tensor's live range within one step runs from the start of `first_task`
/// to the end of `last_task` (ids of step 2; a range that ends in the following step names a task
/// of step 3).
struct Placement {
  TensorIndex tensor;
  Bytes offset;
  sim::TaskId first_task;
  sim::TaskId last_task;
};

struct Layout {
  std::vector<Placement> placements;  ///< One a tensor, in tensor order.
  Bytes device_bytes{0};              ///< Peak = size of the device arena.
  Bytes host_bytes{0};
  Bytes disk_bytes{0};  ///< Size of the file.

  [[nodiscard]] Bytes bytes(Arena arena) const {
    return arena == Arena::device ? device_bytes : arena == Arena::host ? host_bytes : disk_bytes;
  }
  [[nodiscard]] Bytes& bytes(Arena arena) {
    return arena == Arena::device ? device_bytes : arena == Arena::host ? host_bytes : disk_bytes;
  }
};

struct StepGraph {
  sim::TaskGraph graph;  ///< Ids "s1/..." to "s3/..."; period s2/grads to s3/grads.
  std::vector<StepTask> tasks;
  std::vector<StepTensor> tensors;
  Layout layout;
  std::vector<std::vector<DiskPiece>> disk;  ///< By unit: none where its state is not on the disk.
  Bytes rope_tables{0};                      ///< Of a CUDA device, outside the arena.
  std::size_t tasks_per_step = 0;  ///< Task i of step n is task i + tasks_per_step of step n + 1.
};

/// The graph with costs from `costs`, no arena laid out: enough to simulate.
[[nodiscard]] StepGraph write_step_graph(const Job& job, const Plan& plan, const CostModel& costs);
/// Laid out, but tasks have no ids and no cost keys: enough to simulate and to say what memory it
/// takes.
[[nodiscard]] StepGraph build_timing_graph(const Job& job, const Plan& plan,
                                           const CostModel& costs);
/// The same, and lays out every arena.
[[nodiscard]] StepGraph build_step_graph(const Job& job, const Plan& plan, const CostModel& costs);

}  // namespace sluice::planner
