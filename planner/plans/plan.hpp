// A plan: every choice that changes time or memory but not results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

enum class Tier { hbm, host, disk };
/// What the forward pass keeps of a block for its backward pass.
enum class Keep {
  input,      ///< The block's input; everything else is recomputed.
  selective,  ///< Also q, k, v, the attention output and its log-sum-exp: attention is never
              ///< recomputed.
  all,        ///< Every matrix product's result.
  input_kv,   ///< Input, k and v: of `saved_records` alone, only predicted.
  attention,  ///< Also the attention output and its log-sum-exp; likewise.
};
enum class Executor { cpu, gpu };
/// When a unit's optimizer update runs.
enum class When {
  backward,  ///< As soon as its gradient is known (only where nothing waits for the norm).
  forward,   ///< Under the next step's forward pass, in unit order.
  after,     ///< After the step; the next step waits for all updates.
};

/// The choices for one unit. `keep` and `keep_tier` mean nothing for embed and head.
struct UnitPlan {
  Tier weights = Tier::host;    ///< Between uses; on the disk only beside state there.
  Tier gradients = Tier::host;  ///< Where the accumulated gradient waits; on the disk only beside
                                ///< state there, with which it comes back. Where none waits, of one
                                ///< round and `when: backward`, hbm gives it no memory of its own.
  Tier state = Tier::host;      ///< Low halves (bf16 compute), m and v. Staged where the host's is
                                ///< updated by the gpu. On the disk it comes to the host in pieces
                                ///< (planner/plans/disk_state.hpp), where the cpu updates it.
  Keep keep = Keep::input;
  Tier keep_tier = Tier::hbm;
  Executor executor = Executor::cpu;
  When when = When::forward;
  friend bool operator==(const UnitPlan&, const UnitPlan&) = default;
};

/// A block reads one stream buffer and writes another; more than the most hide nothing further.
inline constexpr std::int64_t kFewestStreams = 2, kMostStreams = 4;

struct Plan {
  std::vector<UnitPlan> units;      ///< embed, blocks, head; "layers" in the plan file.
  std::int64_t weight_buffers = 2;  ///< Device slots that streamed blocks rotate through.
  /// Device slots of block gradients on their way to the host, and host slots of those that wait on
  /// the device or nowhere, on their way to an update.
  std::int64_t gradient_buffers = 2;
  std::int64_t activation_buffers = 2;  ///< Device slots of offloaded activation records.
  /// Buffers of each micro-batch that blocks' inputs take in turn where records are offloaded: a
  /// block's output may come to one whose input two blocks before has left, or more blocks before.
  std::int64_t stream_buffers = kFewestStreams;
  /// Units whose staged state has device memory of its own; the others' takes what records leave.
  std::int64_t state_buffers = 0;
  std::int64_t disk_buffers = 3;   ///< Host slots that pieces of state on the disk rotate through,
  Bytes disk_buffer{256ll << 20};  ///< and the largest that one may be.
  std::int64_t prefetch_depth =
      1;                    ///< Weight loads that may run ahead; at most weight_buffers - 1.
  std::int64_t rounds = 1;  ///< rounds x micro_batches_per_round = micro-batches of the job.
  std::int64_t micro_batches_per_round = 1;
  /// Where not empty, records of a round go through `activation_buffers` slots in forward order,
  /// whatever the blocks' keep and keep_tier say: these many are stored to the host at these
  /// levels, the rest, as many as there are slots, stays. Only predicted.
  std::vector<Keep> saved_records;
  Bytes copy_chunk{0};       ///< Largest single copy; zero copies whole tensors.
  std::int64_t threads = 1;  ///< Threads of the CPU optimizer.
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Gives the plan so many weight buffers, at least one, and lets loads run ahead in all but the one
/// in use.
inline void set_weight_buffers(Plan& plan, std::int64_t buffers) {
  plan.weight_buffers = buffers;
  plan.prefetch_depth = buffers - 1;
}

/// Lets loads run ahead no further than the plan has weight buffers for.
inline void limit_prefetch(Plan& plan) {
  plan.prefetch_depth = std::min(plan.prefetch_depth, plan.weight_buffers - 1);
}

/// Do the unit's weights come to the device whenever they are used?
[[nodiscard]] inline bool streams_weights(const UnitPlan& unit) {
  return unit.weights != Tier::hbm;
}

/// Does the unit's gradient leave the device to wait?
[[nodiscard]] inline bool stores_gradient(const UnitPlan& unit) {
  return unit.gradients != Tier::hbm;
}

/// Does the unit's gradient wait nowhere? It passes through slots of the device and of the host to
/// an update that runs at once.
[[nodiscard]] inline bool passes_gradient(std::int64_t rounds, const UnitPlan& unit) {
  return rounds == 1 && unit.gradients == Tier::hbm && unit.executor == Executor::cpu &&
         unit.when == When::backward;
}

/// Is the unit's gradient on the device only until it has been stored?
[[nodiscard]] inline bool streams_gradient(std::int64_t rounds, const UnitPlan& unit) {
  return stores_gradient(unit) || passes_gradient(rounds, unit);
}
[[nodiscard]] inline bool streams_gradient(const Plan& plan, const UnitPlan& unit) {
  return streams_gradient(plan.rounds, unit);
}

/// Is the unit's state loaded to the device for its update and stored back after it?
[[nodiscard]] inline bool stages_state(const UnitPlan& unit) {
  return unit.executor == Executor::gpu && unit.state == Tier::host;
}

/// Does the state wait on the host and the gradient, too, so that both pass through the state
/// buffers at the end of the step? Only predicted.
[[nodiscard]] inline bool rotates_state(const UnitPlan& unit) {
  return stages_state(unit) && unit.gradients == Tier::host;
}

/// Throws BadRequest naming what this version predicts and does not execute.
void require_executable(const Plan& plan);

/// A plan of one UnitPlan for every unit.
[[nodiscard]] Plan uniform_plan(const Job& job, const UnitPlan& unit, std::int64_t rounds);

/// Throws BadRequest naming the plan field that is wrong for this job: counts, divisibility,
/// and the residency combinations docs/design/plan-space.md lists.
void validate(const Plan& plan, const Job& job);
/// Whether validate() has nothing to say.
[[nodiscard]] bool is_valid(const Plan& plan, const Job& job);

[[nodiscard]] std::string plan_hash(const Plan& plan);

const char* to_string(Tier tier);
const char* to_string(Keep keep);
const char* to_string(Executor executor);
const char* to_string(When when);

}  // namespace sluice::planner
