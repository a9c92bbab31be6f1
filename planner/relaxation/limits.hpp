// What the relaxation speaks of: uses of units, constraints by name, parts of a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::planner {

/// Something that units use in a step, in seconds, bytes or parameters: u of
/// docs/design/relaxation.md. There a_uc is what one unit with choice c uses of it, and y_u the sum
/// over all units of a plan.
enum class Use : std::uint8_t {
  compute,       ///< Seconds of the compute lane in the whole step.
  forward,       ///< Seconds of the compute lane from a pass's start to its loss, in all rounds.
  tail,          ///< Seconds of the compute lane from losses to the norm, in all rounds.
  h2d,           ///< Bytes copied to the device.
  d2h,           ///< Bytes copied from the device.
  update,        ///< Parameters updated on the CPU.
  refresh,       ///< Bytes of weights that come to the device between the norm and the loss.
  embed_wait,    ///< Seconds of the embedding's update and copy, which its next pass waits for.
  embed_store,   ///< Seconds by which storing the embedding's gradient outlasts its norm.
  block_chain,   ///< Seconds of a block's update, copy and forward pass, shared by all blocks.
  between,       ///< Without clipping: seconds between the first block's last backward and its next
                 ///< forward pass (its gradient's store, update and copy, shared by all blocks, and
                 ///< the embedding's update).
  block_passes,  ///< Without clipping: seconds of a round's passes of blocks that the CPU updates.
  last_copy,     ///< Seconds that follow the last update: a copy, or a smaller one and a forward.
  staged,        ///< Device bytes of optimizer state that lives on the host and is updated by the
                 ///< device.
  resident,      ///< Bytes of weights and state that stay on the device.
  records,       ///< Bytes of a round's records on the device and on the host.
  device_records,  ///< Bytes of a round's records that stay on the device.
  streamed,        ///< Bytes of blocks' weights that do not stay on the device.
  scratch,         ///< Bytes of device slots, each shared by the units that use it.
  record_slots,    ///< Bytes of device slots for records, each shared by the blocks that use it.
  waiting,         ///< Bytes of gradients that wait on the device for the norm.
  summed,          ///< Bytes of gradient sums that the device keeps from round to round.
  loss_slots,      ///< Bytes of device slots in use at a loss, beyond `scratch`; with several
                   ///< rounds at a later round's loss.
  early_staged,    ///< Bytes of staged state that take a record's place or come before the last
                   ///< loss.
  embed_staged,    ///< Bytes of the embedding's staged state.
  reloads,         ///< Bytes of gradient sums that come back to the device in later rounds, beyond
                   ///< those that stay in slots.
  streamed_gradients,  ///< Bytes of blocks' gradient sums that leave in each of several rounds,
                       ///< beyond their share of a slot.
  late_gradients,      ///< With clipping: bytes of gradients that leave after the norm.
  forward_waits,       ///< Seconds that forward passes wait for slots of records that leave.
  backward_waits,      ///< Seconds that backward passes wait for records that come back.
  host,                ///< Bytes that the host holds throughout the step.
  host_records,        ///< Bytes of records that the host holds.
  host_gradients       ///< Bytes of gradients that the host holds.
};
inline constexpr std::size_t kUses = 33;
using UseSum = std::array<double, kUses>;
[[nodiscard]] inline double& use_of(UseSum& sum, Use use) {
  return sum[static_cast<std::size_t>(use)];
}

/// The constraints by name, in their order in the program. Their inequalities are in
/// docs/design/relaxation.md and where each is built.
enum class Limit : std::uint8_t {
  // Constraints of the whole step's time, T.
  compute,
  h2d,
  d2h,
  cpu,
  dram,
  cores,
  embed_cycle,   ///< The embedding's gradient is stored, its weights are updated and copied, and
                 ///< then come all passes.
  embed_slowed,  ///< The embedding's cycle with passes slowed by copies.
  block_cycle,   ///< Without clipping: the cycle of the first block that the CPU updates.
  // Constraints of the first forward part's time, from the norm to the first loss.
  first_forward,
  first_forward_h2d,
  first_forward_d2h,
  embed_chain,   ///< With clipping: the embedding's update and copy, then one round's passes.
  chain_slowed,  ///< The embedding's chain with passes slowed by copies.
  block_chain,  ///< With clipping: a block's update and copy, then the forward passes of all blocks
                ///< that the CPU updates.
  updates,      ///< With clipping: all CPU updates, then a copy of updated weights.
  update_dram,  ///< Host memory's rate that updates and loads share.
  update_cores,  ///< Cores that updates and copies share.
  first_dram,    ///< Host memory's rate that updates and all copies share.
  // Constraints of each later forward pass's time.
  later_forward,
  later_forward_h2d,
  later_forward_d2h,
  // Constraints of the first backward pass's time, to the next round's forward pass or the norm.
  first_backward,
  first_backward_h2d,
  first_backward_d2h,
  // Constraints of each later backward pass's time, but for the last of several.
  later_backward,
  later_backward_h2d,
  later_backward_d2h,
  later_backward_slots,  ///< Running sums are loaded, added to and stored through few slots.
  // Constraints of the last of several backward passes' time, to the norm.
  last_backward,
  last_backward_h2d,
  last_backward_d2h,
  // Constraints of the update span's time, without clipping.
  update_span_updates,  ///< All CPU updates come after the last losses of a step and before the
                        ///< first loss of the next.
  update_span_dram,     ///< Host memory's rate that CPU updates and all copies share.
  // Constraints of what is copied at least in a part, as seconds of its link.
  refresh,          ///< Updated weights (with clipping) or streamed weights (without) come
                    ///< between the norm and the first loss.
  first_stores,     ///< What the device cannot hold when the loss begins leaves during forward.
  later_streams,    ///< Weights that stream come in each later forward pass.
  later_stores,     ///< What the device cannot hold at a later loss leaves in each forward pass.
  late_stores,      ///< Gradients that waited on the device for the norm leave in forward.
  first_loads,      ///< What the device could not hold at the loss and streamed weights come
                    ///< during the first backward pass.
  later_loads,      ///< What the device could not hold at a later loss, streamed weights and
                    ///< running sums of gradients come during each later backward pass.
  last_loads,       ///< What the device could not hold at the last loss, streamed weights,
                    ///< running sums and staged state come during the last backward pass.
  first_gradients,  ///< Gradients that have no slot to stay in leave in the first backward pass.
  later_gradients,  ///< Gradients that have no slot to stay in leave in each later backward pass.
  last_gradients,   ///< Gradients that have no slot to stay in leave in the last backward pass, in
                    ///< their wire format.
  update_span_loads,  ///< Updated weights and what the backward pass needs come in the update span.
  update_span_fetches,  ///< What update_span_loads counts, staged state and what the device could
                        ///< not hold come in the update span.
  update_span_stores,   ///< Gradients for CPU updates leave in the update span.
  update_span_saves,    ///< Gradients for CPU updates, staged state and what the device cannot hold
                        ///< leave in the update span.
  all_loads,            ///< Loads of all parts together.
  all_stores,           ///< Stores of all parts together.
  // Constraints of memory.
  hbm_at_loss,        ///< The device when a loss begins.
  hbm_at_backward,    ///< The device when the only round's backward pass begins.
  hbm_at_norm,        ///< The device at the norm.
  hbm_across_rounds,  ///< The device's bytes that all of several rounds use, and staged state.
  hbm_beside_embed,   ///< With one round: the embedding's staged state and what is beside it.
  host_at_loss,       ///< The host when a loss begins.
  host_at_norm,       ///< The host at the norm.
  gradient_slots,     ///< With several rounds: slots for blocks' gradients are whole.
  gradients_few,      ///< The most blocks that may have their gradients on the host, by the node.
  gradients_many,     ///< The fewest blocks that have their gradients on the host, by the node.
};
constexpr std::size_t constraint_index(Limit limit) { return static_cast<std::size_t>(limit); }
inline constexpr std::size_t kLimits = 61;
/// Number of constraints of time, which come first.
inline constexpr std::size_t kTimeLimits = 34;
/// Number of constraints of time and of copies, which come first.
inline constexpr std::size_t kSecondLimits = 51;
const char* to_string(Limit limit);
/// Whether the constraint is a cycle around the whole step, whose passes count as sustained.
[[nodiscard]] constexpr bool is_cycle(Limit limit) {
  return limit >= Limit::embed_cycle && limit <= Limit::block_cycle;
}

/// What a constraint is about. The first five are the parts p that a step consists of
/// (docs/design/relaxation.md).
enum class StepPart : std::uint8_t {
  first_forward,
  later_forward,
  first_backward,
  later_backward,
  last_backward,
  whole,
  update_span,  ///< The last backward pass and the next step's first forward pass.
  copies,
  memory
};
inline constexpr std::size_t kParts = 5;  ///< Number of parts that a step consists of.
/// Number of parts with constraints of time: those of a step, the whole step and the update span.
inline constexpr std::size_t kTimedParts = kParts + 2;
constexpr std::size_t part_index(StepPart part) { return static_cast<std::size_t>(part); }
[[nodiscard]] StepPart part_of(Limit limit);
/// How often a step of so many rounds has the part: n_p.
[[nodiscard]] double times_in_step(StepPart part, std::int64_t rounds);

/// Whether `part`, one that a step consists of, lies in the update span.
[[nodiscard]] constexpr bool is_in_update_span(StepPart part) {
  return part == StepPart::first_forward || part == StepPart::last_backward;
}

/// The copies that a constraint limits: those in one direction during one part of the step, during
/// the update span (the last backward pass and the next step's first forward pass), or, where
/// `part` is `whole`, during the whole step.
struct CopiedIn {
  StepPart part = StepPart::whole;
  bool down = true;  ///< Whether the copies go to the device; else they come from it.
};
/// The copies that a constraint whose part is `copies` is about.
[[nodiscard]] CopiedIn copied_in(Limit limit);

}  // namespace sluice::planner
