// A plan: every choice that changes time or memory but not results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

enum class Tier { hbm, host, disk };
/// What the forward pass keeps of a block for its backward pass.
enum class Keep {
  input,  ///< Only the block's input; everything else is recomputed.
  /// The input, q, k, v, the attention output and its log-sum-exp: attention is not recomputed.
  selective,
  all,       ///< The result of every matrix product.
  input_kv,  ///< The input, k and v. Only for `saved_records`, and only predicted.
  /// The input, k, v, the attention output and its log-sum-exp. Only for `saved_records`, and only
  /// predicted.
  attention,
};
enum class Executor { cpu, gpu };
/// When a unit's optimizer update runs.
enum class When {
  backward,  ///< As soon as the unit's gradient is known; only where no update waits for the norm.
  forward,   ///< Under the next step's forward pass, in unit order.
  after,     ///< After the step; the next step waits for all updates.
};

/// Choices of a plan for one unit. `keep` and `keep_tier` mean nothing for embedding and head.
struct UnitPlan {
  /// Where the weights live between uses; on disk only where the state is there.
  Tier weights = Tier::host;
  /// Where the accumulated gradient waits; on disk only where the state is there. With one round
  /// and `when: backward` no gradient waits, and hbm then gives it no memory of its own.
  Tier gradients = Tier::host;
  /// Where low halves (for bf16 compute), m and v live. With executor gpu and tier host they are
  /// copied to the device for the update and back. On disk they come to the host in pieces
  /// (planner/plans/disk_state.hpp), where the CPU updates them.
  Tier state = Tier::host;
  Keep keep = Keep::input;
  Tier keep_tier = Tier::hbm;
  Executor executor = Executor::cpu;
  When when = When::forward;
  friend bool operator==(const UnitPlan&, const UnitPlan&) = default;
};

/// Bounds of Plan::stream_buffers: a block reads one and writes another; more than four hide
/// nothing further.
inline constexpr std::int64_t kFewestStreams = 2, kMostStreams = 4;

struct Plan {
  /// Choices by unit: embedding, blocks, head; "layers" in the plan file.
  std::vector<UnitPlan> units;
  /// Device slots that streamed blocks' weights use one after another.
  std::int64_t weight_buffers = 2;
  /// Slots for gradients of blocks: on the device, on their way to the host; and on the host, for
  /// gradients that wait on the device or nowhere, on their way to an update.
  std::int64_t gradient_buffers = 2;
  /// Device slots for activation records that are kept on the host.
  std::int64_t activation_buffers = 2;
  /// Buffers per micro-batch that blocks' inputs use one after another where records are kept on
  /// the host. With two, a block writes its output where the block before it read its input; more
  /// let it run further ahead of the copies.
  std::int64_t stream_buffers = kFewestStreams;
  /// Number of units whose staged state has device memory of its own; the others use memory that
  /// records leave free.
  std::int64_t state_buffers = 0;
  /// Host slots that pieces of state on disk use one after another.
  std::int64_t disk_buffers = 3;
  Bytes disk_buffer{256ll << 20};  ///< Largest size of one of the `disk_buffers`.
  std::int64_t prefetch_depth =
      1;  ///< Weight loads that may run ahead; at most weight_buffers - 1.
  /// Number of rounds: rounds x micro_batches_per_round = micro-batches of the job.
  std::int64_t rounds = 1;
  std::int64_t micro_batches_per_round = 1;
  /// Levels of the records that are stored to the host. Where not empty, the records of a round, in
  /// forward order, go through `activation_buffers` device slots, whatever keep and keep_tier of
  /// the blocks say: the first ones are stored at these levels, and the last, as many as there are
  /// slots, stay. Only predicted.
  std::vector<Keep> saved_records;
  Bytes copy_chunk{0};       ///< Largest single copy; zero copies whole tensors.
  std::int64_t threads = 1;  ///< Threads of the CPU optimizer.
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Whether the unit's weights are copied to the device whenever they are used.
[[nodiscard]] inline bool streams_weights(const UnitPlan& unit) {
  return unit.weights != Tier::hbm;
}

/// Whether the unit's gradient leaves the device to wait for its update.
[[nodiscard]] inline bool stores_gradient(const UnitPlan& unit) {
  return unit.gradients != Tier::hbm;
}

/// Whether the unit's gradient waits nowhere: it passes through device and host slots to a CPU
/// update that runs at once.
[[nodiscard]] inline bool passes_gradient(const Plan& plan, const UnitPlan& unit) {
  return plan.rounds == 1 && unit.gradients == Tier::hbm && unit.executor == Executor::cpu &&
         unit.when == When::backward;
}

/// Whether the unit's gradient is on the device only until it has been stored.
[[nodiscard]] inline bool streams_gradient(const Plan& plan, const UnitPlan& unit) {
  return stores_gradient(unit) || passes_gradient(plan, unit);
}

/// Whether the unit's state is copied to the device for its update and back after it.
[[nodiscard]] inline bool stages_state(const UnitPlan& unit) {
  return unit.executor == Executor::gpu && unit.state == Tier::host;
}

/// Whether both state and gradient of the unit wait on the host and pass through the device's state
/// buffers at the end of the step. Only predicted.
[[nodiscard]] inline bool rotates_state(const UnitPlan& unit) {
  return stages_state(unit) && unit.gradients == Tier::host;
}

/// Throws BadRequest naming the first thing that this version predicts and does not execute.
void require_executable(const Plan& plan);

/// Whether any unit's state lives on the disk. Only then may gradients wait or weights live there.
[[nodiscard]] bool uses_disk(const Plan& plan);

/// A plan in which every unit has the choices of `unit`.
[[nodiscard]] Plan uniform_plan(const Job& job, const UnitPlan& unit, std::int64_t rounds);

/// Throws BadRequest naming the plan field that is wrong for this job: counts, divisibility, and
/// the combinations of residency that docs/design/plan-space.md lists.
void validate(const Plan& plan, const Job& job);
/// Whether validate(plan, job) would not throw.
[[nodiscard]] bool is_valid(const Plan& plan, const Job& job);

[[nodiscard]] std::string plan_hash(const Plan& plan);

const char* to_string(Tier tier);
const char* to_string(Keep keep);
const char* to_string(Executor executor);
const char* to_string(When when);

}  // namespace sluice::planner
