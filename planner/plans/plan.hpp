// A plan: every choice that changes time or memory but not results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/host_pass.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Memory in which a tensor lives: the device's (hbm), the host's, or the disk.
enum class Tier { hbm, host, disk };
/// Tensors of a block that the forward pass keeps for its backward pass.
enum class Keep {
  input,  ///< Only the block's input, from which everything else is recomputed.
  /// Input, q, k, v, attention output and its log-sum-exp, so that attention is not recomputed.
  selective,
  all,  ///< The whole record (planner/graph/record.hpp), so that no recomputation task is needed.
  /// Input, k and v. Only for `saved_records`; a plan with it is predicted and cannot be executed.
  input_kv,
  /// Input, k, v, attention output and its log-sum-exp. Only for `saved_records`; a plan with it is
  /// predicted and cannot be executed.
  attention,
};
enum class Executor { cpu, gpu };  ///< Processor that updates a unit's weights.
/// When a unit's optimizer update runs.
enum class When {
  /// As soon as the unit's gradient is known; not allowed where gradients are clipped, as updates
  /// then wait for the norm.
  backward,
  forward,  ///< While the next step's forward pass runs, in the order of units.
  after,    ///< Right after the step; the next step waits for all such updates.
};
/// How state that lives on the host visits the device for an update there.
enum class Staging {
  whole,  ///< All units' at once: in memory of its own, or in that of records.
  ring,   ///< One unit's after another's, through the slots of a ring.
};

/// How much of weights that live in HBM each of several ranks holds.
enum class Extent {
  whole,  ///< All of them, gathered once after their update.
  slice,  ///< The rank's slice; all slices are gathered for each use, into the buffers of streamed
          ///< weights.
};

/// Way in which several ranks get all slices of weights whose home is host memory.
enum class Gather {
  fabric,  ///< Each copies its own slice to its device, and a collective brings the others'.
  /// High halves of all slices lie in memory that the ranks of a host share, and each copies them
  /// whole: for devices that do not reach each other's memory.
  host,
};

/// Choices of a plan for one unit. `keep` and `keep_tier` have no effect on embedding and head.
struct UnitPlan {
  /// Where the weights live between uses; disk only where the state is there too.
  Tier weights = Tier::host;
  /// Where the accumulated gradient waits for the update; disk only where the state is there too.
  /// With one round and `when: backward` no gradient waits, and hbm then gives it no memory of its
  /// own.
  Tier gradients = Tier::host;
  /// Where low halves (for bf16 compute), m and v live. With executor gpu and tier host they are
  /// copied to the device for the update and back. From the disk they come to host memory in pieces
  /// (planner/plans/disk_state.hpp), where the CPU updates them.
  Tier state = Tier::host;
  Keep keep = Keep::input;  ///< What the forward pass keeps of a block for its backward pass.
  /// Where that waits for the backward pass: on the device (hbm) or on the host.
  Tier keep_tier = Tier::hbm;
  Executor executor = Executor::cpu;
  When when = When::forward;
  /// Has an effect where the GPU updates state that lives on the host (stages_state).
  Staging staging = Staging::whole;
  /// Has an effect where weights live in HBM; slice only with several ranks and executor gpu.
  Extent resident = Extent::whole;
  friend bool operator==(const UnitPlan&, const UnitPlan&) = default;
};

/// Least and largest Plan::stream_buffers: a block reads one buffer and writes another; more than
/// four hide nothing further.
inline constexpr std::int64_t kFewestStreams = 2, kMostStreams = 4;

/// Every choice that changes the time or the memory of a job's steps, but not their results.
struct Plan {
  /// Choices by unit: embedding, blocks, head. The plan file calls the list "layers".
  std::vector<UnitPlan> units;
  /// Number of device slots that streamed blocks' weights use one after another.
  std::int64_t weight_buffers = 2;
  /// Number of slots for blocks' gradients in each of two rings: on the device, for gradients on
  /// their way to the host; and on the host, for gradients that wait on the device or nowhere, on
  /// their way to a CPU update.
  std::int64_t gradient_buffers = 2;
  /// Number of device slots that activation records on their way to and from the host use.
  std::int64_t activation_buffers = 2;
  /// Number of device buffers for each micro-batch that blocks' inputs use one after another where
  /// records are kept on the host. With two, a block writes its output where the block before it
  /// read its input; more let it run further ahead of the copies.
  std::int64_t stream_buffers = kFewestStreams;
  /// Number of units whose staged state (stages_state) has device memory of its own; the others use
  /// memory that records leave free. Where state rotates (rotates_state), number of slots of its
  /// ring, at least one.
  std::int64_t state_buffers = 0;
  /// Number of host buffers that pieces of state on disk use one after another.
  std::int64_t disk_buffers = 3;
  Bytes disk_buffer{256ll << 20};  ///< Largest size of one host buffer for pieces of state on disk.
  /// Number of loads of streamed weights that may be issued ahead of the pass that uses them; at
  /// most weight_buffers - 1.
  std::int64_t prefetch_depth = 1;
  /// Number of rounds; rounds x micro_batches_per_round is the job's number of micro-batches.
  std::int64_t rounds = 1;
  std::int64_t micro_batches_per_round = 1;
  /// How much of each of the first records of a round is stored to the host, one entry a record.
  /// Where not empty, all records of a round, in forward order, go through `activation_buffers`
  /// device slots, whatever keep and keep_tier of the blocks say: the first saved_records.size()
  /// ones are stored, and the last, as many as there are slots, stay. Such a plan is predicted and
  /// cannot be executed.
  std::vector<Keep> saved_records;
  /// Number of blocks from one kept input to the next. With more than one, the inputs of the blocks
  /// between are computed again before the backward passes of such a group, by one more forward
  /// pass over the group, for which its weights are loaded again. Such a plan is predicted and
  /// cannot be executed.
  std::int64_t checkpoint_interval = 1;
  /// Passes of the CPU over the model between steps, in the order in which they run.
  std::vector<HostPass> host_passes;
  /// Number of ranks: GPUs that share a step and its state. Each computes an equal run of the
  /// step's groups of micro-batches and keeps an equal slice of every unit
  /// (planner/models/slices.hpp). Rounds, buffers and threads are those of one rank.
  std::int64_t ranks = 1;
  /// Number of hosts of equally many consecutive ranks, inside which gradients are summed before
  /// the sums are exchanged between them (sums_in_two). With 1, every rank exchanges with all
  /// others at once.
  std::int64_t hosts = 1;
  /// How ranks get weights whose home is host memory (pulls_weights). With Gather::host every host
  /// holds the high halves of all slices, and gets those of the other hosts once a step.
  Gather gather = Gather::fabric;
  /// Largest number of bytes of a rank's slice of a gradient that one exchange brings from each
  /// other rank; and number of buffers for what exchanges bring. No effect with one rank.
  Bytes exchange_piece{64ll << 20};
  std::int64_t receive_buffers = 2;
  Bytes copy_chunk{0};  ///< Largest number of bytes of one copy task; zero copies whole tensors.
  std::int64_t threads = 1;  ///< Number of threads of the CPU optimizer.
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Number of hosts inside which `ranks` ranks on `hosts` hosts can sum gradients first: `hosts`
/// where each holds a power of two of ranks, at least 2, which are complete parts of the tree of
/// ranks; else 1.
[[nodiscard]] std::int64_t summing_hosts(std::int64_t ranks, std::int64_t hosts);

/// Whether the plan's ranks sum gradients inside hosts first. Only plans with Gather::host have
/// hosts that do not.
[[nodiscard]] inline bool sums_in_two(const Plan& plan) {
  return plan.hosts > 1 && summing_hosts(plan.ranks, plan.hosts) == plan.hosts;
}

/// Number of pieces of a gradient that one receive buffer of the plan holds: what a rank receives
/// at once.
[[nodiscard]] inline std::int64_t received_pieces(const Plan& plan) {
  const std::int64_t hosts = plan.hosts, ranks = plan.ranks;
  return sums_in_two(plan) ? std::max(ranks - hosts, hosts - 1) : ranks - 1;
}

/// Gives the plan `buffers` weight buffers (at least one), and lets loads run ahead in all but the
/// one in use.
inline void set_weight_buffers(Plan& plan, std::int64_t buffers) {
  plan.weight_buffers = buffers;
  plan.prefetch_depth = buffers - 1;
}

/// Reduces prefetch_depth, where needed, to weight_buffers - 1.
inline void limit_prefetch(Plan& plan) {
  plan.prefetch_depth = std::min(plan.prefetch_depth, plan.weight_buffers - 1);
}

/// Whether the unit's weights are copied to the device whenever they are used.
[[nodiscard]] inline bool streams_weights(const UnitPlan& unit) {
  return unit.weights != Tier::hbm;
}

/// Whether all of the unit's weights are on the device only while passes use them: copied there, or
/// gathered from the ranks' slices.
[[nodiscard]] inline bool passes_weights(const UnitPlan& unit) {
  return streams_weights(unit) || unit.resident == Extent::slice;
}

/// Whether every rank copies all of the unit's weights from memory that the ranks of its host share
/// (Gather::host).
[[nodiscard]] inline bool pulls_weights(const Plan& plan, const UnitPlan& unit) {
  if (plan.ranks == 1 || plan.gather == Gather::fabric) return false;
  // A copy on the device that the CPU's updates leave stale comes from there, too.
  return unit.weights == Tier::host ||
         (unit.weights == Tier::hbm && unit.executor == Executor::cpu);
}

/// Whether the unit's gradient leaves the device to wait for its update on the host or the disk.
[[nodiscard]] inline bool stores_gradient(const UnitPlan& unit) {
  return unit.gradients != Tier::hbm;
}

/// Whether the unit's state is copied to the device for its update and back after it.
[[nodiscard]] inline bool stages_state(const UnitPlan& unit) {
  return unit.executor == Executor::gpu && unit.state == Tier::host;
}

/// Whether the unit's state passes through the device's ring of state slots for its update.
[[nodiscard]] inline bool rotates_state(const UnitPlan& unit) {
  return stages_state(unit) && (unit.staging == Staging::ring || unit.gradients == Tier::host);
}

/// Whether the unit's state passes through the ring while the backward pass runs. The update then
/// reads the gradient where that pass leaves it; on the host it waits between rounds alone.
[[nodiscard]] inline bool rotates_under_backward(const UnitPlan& unit) {
  return rotates_state(unit) && unit.when == When::backward;
}

/// Whether the unit's state may come to the ring before the norm for an update after it. That of
/// embedding and head, and all that is not in `Staging::ring`, waits for the norm.
[[nodiscard]] inline bool rotates_early(const UnitPlan& unit, bool is_block) {
  return is_block && rotates_state(unit) && unit.staging == Staging::ring &&
         unit.when != When::backward;
}

/// Whether the unit's gradient waits on the host and comes to the ring's slot for its update.
[[nodiscard]] inline bool rotates_gradient(const UnitPlan& unit) {
  return rotates_state(unit) && unit.gradients == Tier::host && unit.when != When::backward;
}

/// Whether the unit's gradient waits nowhere: it passes through a device slot to an update that
/// runs at once, on the device, or on the CPU from a host slot.
[[nodiscard]] inline bool passes_gradient(std::int64_t rounds, const UnitPlan& unit) {
  if (rounds > 1 || unit.when != When::backward) return false;
  return rotates_state(unit) || (unit.gradients == Tier::hbm && unit.executor == Executor::cpu);
}

/// Whether the unit's gradient is on the device only until it has been stored to the host or used.
[[nodiscard]] inline bool streams_gradient(std::int64_t rounds, const UnitPlan& unit) {
  return stores_gradient(unit) || passes_gradient(rounds, unit);
}

/// Whether the unit's gradient waits in HBM as this rank's slice of the sum of all ranks, apart
/// from the rank's own sum, which is there whole until the exchange: with several ranks in one
/// round.
[[nodiscard]] inline bool waits_as_slice(std::int64_t ranks, std::int64_t rounds,
                                         const UnitPlan& unit) {
  return ranks > 1 && rounds == 1 && unit.gradients == Tier::hbm && !passes_gradient(rounds, unit);
}

[[nodiscard]] inline bool streams_gradient(const Plan& plan, const UnitPlan& unit) {
  return streams_gradient(plan.rounds, unit) || waits_as_slice(plan.ranks, plan.rounds, unit);
}

/// Whether the input of block `unit` is kept from its forward to its backward pass, and not
/// computed again (Plan::checkpoint_interval).
[[nodiscard]] inline bool keeps_input(const Plan& plan, std::size_t unit) {
  return (unit - 1) % static_cast<std::size_t>(plan.checkpoint_interval) == 0;
}

/// Throws BadRequest naming the first choice of the plan that this version predicts but cannot
/// execute.
void require_executable(const Plan& plan);

/// Whether any unit's state lives on the disk. Only then may gradients wait or weights live there.
[[nodiscard]] bool uses_disk(const Plan& plan);

/// A plan of `rounds` rounds in which every unit has the choices of `unit`; otherwise default
/// values.
[[nodiscard]] Plan uniform_plan(const Job& job, const UnitPlan& unit, std::int64_t rounds);

/// Throws BadRequest naming the plan field that is wrong for this job: counts, divisibility, and
/// the combinations of residency that docs/design/plan-space.md lists.
void validate(const Plan& plan, const Job& job);
/// Whether validate(plan, job) would not throw.
[[nodiscard]] bool is_valid(const Plan& plan, const Job& job);

/// Hash of the plan; equal plans have equal hashes.
[[nodiscard]] std::string plan_hash(const Plan& plan);

const char* to_string(Tier tier);
const char* to_string(Keep keep);
const char* to_string(Executor executor);
const char* to_string(When when);
const char* to_string(Staging staging);
const char* to_string(Extent extent);
const char* to_string(Gather gather);

/// Numbers of ranks that can share a step of `job`, in ascending order: of the numbers whose ranks
/// each hold a complete part of the tree of groups (admissible_ranks), those that divide the
/// micro-batches, so that all ranks compute as many.
[[nodiscard]] std::vector<std::int64_t> ranks_of(const Job& job);

/// Throws BadRequest naming the field that does not go with the plan's number of ranks, and where
/// the number itself is not admissible, the numbers that are.
void validate_ranks(const Plan& plan, const Job& job);

}  // namespace sluice::planner
