// What the relaxation of plans speaks of: what plans use, what limits a step and its parts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::planner {

/// What one unit's choices use in a step; sums over units are what a plan uses.
enum class Use : std::uint8_t {
  compute,       ///< Seconds of the compute lane.
  forward,       ///< Seconds of it before the loss,
  tail,          ///< and from the loss to the norm.
  h2d,           ///< Bytes.
  d2h,           ///< Bytes.
  update,        ///< Parameters updated on the CPU.
  refresh,       ///< Bytes of weights that come between the norm and the loss.
  embed_wait,    ///< Seconds from the norm to the first forward pass: the embedding's own update
                 ///< and copy,
  embed_store,   ///< and what its gradient's way to the host takes longer than its norm.
  block_chain,   ///< Seconds of its own update and copy, shared by all blocks, and of its forward.
  between,       ///< Without clipping: seconds between the first block's last pass backward and its
                 ///< next forward: its own gradient's way to the host, update and copy, shared by
                 ///< all blocks, and the embedding's update;
  block_passes,  ///< and a round's of a block that the CPU updates, at most.
  last_copy,     ///< Seconds that follow the last update: a copy, or a smaller one and a forward.
  staged,        ///< Bytes of state that visits the device.
  resident,      ///< Bytes that stay on the device.
  records,       ///< Bytes of a round's records, wherever they wait,
  device_records,  ///< and of those that stay on the device.
  streamed,        ///< Bytes of blocks' weights that do not stay.
  scratch,         ///< Bytes of device slots that its unit has a share of,
  record_slots,    ///< and of those that hold records.
  waiting,         ///< Bytes of gradients that wait on the device,
  summed,          ///< and, of several rounds, that it keeps from one to the next.
  loss_slots,      ///< Bytes of device slots, beyond scratch, that are in use at a loss: of several
                   ///< rounds at a later one's.
  early_staged,    ///< Of `staged`, what takes a record's place or comes before the last loss,
  embed_staged,    ///< and the embedding's.
  reloads,         ///< Bytes of running gradient sums that come back between rounds, beyond slots.
  streamed_gradients,  ///< Of several rounds: bytes of blocks' gradients that leave in each, beyond
                       ///< their share of a slot.
  late_gradients,      ///< With clipping: bytes that leave after the norm, for CPU updates.
  forward_waits,       ///< Seconds that passes forward wait for slots of records that leave,
  backward_waits,      ///< and passes backward for records that come into them.
  host,                ///< Bytes of host memory, whenever,
  host_records,        ///< of records there
  host_gradients       ///< and of gradients, which may follow them in the same place.
};
inline constexpr std::size_t kUses = 33;
using UseSum = std::array<double, kUses>;
[[nodiscard]] inline double& use_of(UseSum& sum, Use use) {
  return sum[static_cast<std::size_t>(use)];
}

/// What limits a step or one of its phases, in the order of the rows.
enum class Limit : std::uint8_t {
  // Of the whole step.
  compute,
  h2d,
  d2h,
  cpu,
  dram,
  cores,
  embed_cycle,   ///< The embedding's gradient stored, updated, copied, then every pass;
  embed_slowed,  ///< the same with passes slowed by copies.
  block_cycle,   ///< Without clipping: so the first block's that the CPU updates, with the
                 ///< embedding's update and the passes of the blocks before it meanwhile.
  // Of the time from the norm to the first loss: passes, then what else goes on.
  first_forward,
  first_forward_h2d,
  first_forward_d2h,
  embed_chain,   ///< With clipping: the embedding's update and copy, then one round's passes;
  chain_slowed,  ///< the same with passes slowed by copies.
  block_chain,   ///< With clipping: a block's update and copy, then all whose weights came so.
  updates,       ///< With clipping: all CPU updates and the copy of the last.
  update_dram,   ///< What both take of the shared memory,
  update_cores,  ///< and of the cores.
  first_dram,    ///< What updates and all copies take of the shared memory.
  // Of each later forward pass.
  later_forward,
  later_forward_h2d,
  later_forward_d2h,
  // From the first loss to the next round's forward pass, or the norm.
  first_backward,
  first_backward_h2d,
  first_backward_d2h,
  // Of each later backward pass but the last.
  later_backward,
  later_backward_h2d,
  later_backward_d2h,
  later_backward_slots,  ///< Through few slots: running sums loaded, added to and stored.
  // Of the last of several, to the norm.
  last_backward,
  last_backward_h2d,
  last_backward_d2h,
  // Of that and the next step's first forward pass together, without clipping.
  turn_updates,  ///< All CPU updates: they begin with the last round's gradients and end before
                 ///< the first loss.
  turn_dram,     ///< What they and copies take of the shared memory.
  // What is copied at least in a part, as time of its link.
  refresh,        ///< Between norm and loss: with clipping all updated weights, else what streams.
  first_stores,   ///< What the device cannot hold when the loss begins leaves during forward.
  later_streams,  ///< In a later forward pass: weights that stream.
  later_stores,
  late_stores,  ///< In the first forward pass: gradients that waited on the device for the norm.
  first_loads,  ///< What could not be held at the loss comes during backward,
  later_loads,  ///< and the running sums of gradients,
  last_loads,   ///< and staged state.
  first_gradients,  ///< In backward passes of several rounds: gradients that have no slot to stay,
  later_gradients,
  last_gradients,  ///< the last as they are updated.
  turn_loads,      ///< In the last backward and the first forward pass, without clipping: updated
                   ///< weights, and what else the backward pass needs,
  turn_fetches,    ///< the same with what could not be held;
  turn_stores,     ///< gradients for CPU updates,
  turn_saves,      ///< and what cannot be held.
  all_loads,       ///< In all parts together,
  all_stores,      ///< both ways.
  // Of memory.
  hbm_at_loss,
  hbm_at_backward,  ///< Of one round: when the last block's backward pass begins.
  hbm_at_norm,
  hbm_across_rounds,  ///< Of several: what all of them use, and staged state beside it.
  hbm_beside_embed,   ///< Of one: the embedding's staged state and what is in use beside it.
  host_at_loss,
  host_at_norm,
  // Of several rounds, of a node: slots for blocks' gradients are whole,
  gradient_slots,
  gradients_few,   ///< and so many blocks have theirs on the host at most,
  gradients_many,  ///< and at least.
};
constexpr std::size_t row_index(Limit limit) { return static_cast<std::size_t>(limit); }
inline constexpr std::size_t kLimits = 61;
inline constexpr std::size_t kTimeLimits = 34;    ///< Of a part's or the step's time,
inline constexpr std::size_t kSecondLimits = 51;  ///< and of what is copied.
const char* to_string(Limit limit);
/// Of a way around the whole step, whose passes count as sustained.
[[nodiscard]] constexpr bool is_cycle(Limit limit) {
  return limit >= Limit::embed_cycle && limit <= Limit::block_cycle;
}

/// What a row speaks of. A step is one first forward, rounds - 1 later ones, one first backward,
/// rounds - 2 later ones and, of several rounds, a last one.
enum class StepPart : std::uint8_t {
  first_forward,
  later_forward,
  first_backward,
  later_backward,
  last_backward,
  whole,
  turn,  ///< The last backward pass and the next step's first forward one.
  copies,
  memory
};
inline constexpr std::size_t kParts = 5;                ///< That a step consists of.
inline constexpr std::size_t kTimedParts = kParts + 2;  ///< With the whole and the turn.
constexpr std::size_t part_index(StepPart part) { return static_cast<std::size_t>(part); }
[[nodiscard]] StepPart part_of(Limit limit);
[[nodiscard]] double times_in_step(StepPart part, std::int64_t rounds);

/// Whether `part`, one that a step consists of, is a part of the turn.
[[nodiscard]] constexpr bool is_in_turn(StepPart part) {
  return part == StepPart::first_forward || part == StepPart::last_backward;
}

/// What a row of copies is about: one part's, the turn's, or `whole`: all parts'.
struct CopiedIn {
  StepPart part = StepPart::whole;
  bool down = true;  ///< To the device.
};
/// Of a row whose part is `copies`.
[[nodiscard]] CopiedIn copied_in(Limit limit);

}  // namespace sluice::planner
