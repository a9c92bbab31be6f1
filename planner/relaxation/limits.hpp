// Names that the relaxation uses: what units use in a step, the linear program's constraints, and
// the parts of a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::planner {

/// Something that units use in a step, in seconds, bytes or parameters. In
/// docs/design/relaxation.md amount(use, c) is how much of it one unit with choice c uses, and
/// y(use) the sum over all units of a plan. "Norm" is the gradient norm at the end of a step,
/// "loss" the head's pass of a round.
enum class Use : std::uint8_t {
  compute,  ///< Seconds of the compute lane's tasks in the whole step.
  /// Seconds of the compute lane from the start of forward passes to their loss, summed over all
  /// rounds.
  forward,
  /// Seconds of the compute lane from the start of losses to the end of gradient norms, summed over
  /// all rounds.
  tail,
  h2d,      ///< Bytes that a step copies to the device.
  d2h,      ///< Bytes that a step copies from the device.
  update,   ///< Parameters that the CPU updates.
  refresh,  ///< Bytes of weights that surely come to the device between the norm and the next loss.
  /// Seconds of the embedding's update on the CPU and the copy of its weights; its next pass waits
  /// for both.
  embed_wait,
  /// Seconds of the store of the embedding's gradient, with clipping less those of its norm, where
  /// the CPU updates the embedding.
  embed_store,
  /// Seconds of the forward passes of a round of the blocks that the CPU updates and, divided by
  /// the number of blocks, of their updates and the copies of their weights.
  block_chain,
  /// Without clipping: seconds between the first block's last backward and its next forward pass
  /// (its gradient's store, CPU update and copy, divided by the number of blocks, and the
  /// embedding's update).
  between,
  /// Seconds of a round's forward and backward passes of the blocks that the CPU updates, each
  /// block with the longest recomputation of any choice of records. Only block_cycle counts them, a
  /// constraint without clipping.
  block_passes,
  /// Where the CPU updates the head: seconds that surely follow the last CPU update, of a copy of
  /// the head's weights, or of another unit's and its forward passes of a round.
  last_copy,
  /// Bytes of optimizer state that lives on the host and comes to the device for its update.
  staged,
  /// Bytes of optimizer state that passes through the device's ring of state slots for its update
  /// after the norm (rotates_state).
  rotated,
  /// Bytes of optimizer state, and of gradients beside it, that pass through the device's ring of
  /// state slots and come there after the norm.
  rotated_late,
  /// Bytes of optimizer state that passes through the device's ring of state slots while the last
  /// backward pass runs (rotates_under_backward).
  rotated_backward,
  resident,  ///< Bytes of weights and state that stay on the device throughout.
  records,   ///< Bytes of a round's records, on the device and on the host together.
  /// Bytes of a round's records that stay on the device until their backward pass.
  device_records,
  streamed,  ///< Bytes of those blocks' weights that are copied to the device for each use.
  /// Bytes of device slots for streamed weights and rebuilt records; each unit counts its share of
  /// a slot.
  scratch,
  /// Bytes of device slots for records that leave; each block counts its share of a slot.
  record_slots,
  /// Bytes of gradients that wait on the device for the norm or for their update after it.
  waiting,
  summed,  ///< Bytes of running gradient sums that the device keeps from round to round.
  /// With several rounds: bytes of sums of later groups of micro-batches, and of slots for them,
  /// that the device keeps beside gradients at a loss.
  group_sums,
  /// Bytes of device slots in use at a loss that `scratch` does not count: weights of embedding and
  /// head and, with several rounds, gradients on their way to the host.
  loss_slots,
  /// With several rounds: bytes of staged state that surely takes the place of records on the
  /// device or comes there before the last loss.
  early_staged,
  embed_staged,  ///< Bytes of the embedding's staged state.
  /// Bytes of running gradient sums that come back to the device in all later rounds, without those
  /// that stay in slots.
  reloads,
  /// With several rounds: bytes of blocks' running gradient sums that leave the device in each
  /// round. Of L blocks each counts (L - 1)/L of its sum, since one block's sum may stay in a slot.
  streamed_gradients,
  /// The part of streamed_gradients that leaves the device in the last backward pass, too.
  leaving_gradients,
  /// With clipping: bytes of gradients for CPU updates that wait on the device for the norm and
  /// leave after it.
  late_gradients,
  /// Seconds, over all rounds, that forward passes surely wait for slots because their records must
  /// leave first.
  forward_waits,
  /// Seconds, over all rounds, that backward passes surely wait for records that come back from the
  /// host.
  backward_waits,
  host,            ///< Bytes that the host's memory holds throughout the step.
  host_records,    ///< Bytes of a round's records in the host's memory.
  host_gradients,  ///< Bytes of gradients that wait in the host's memory.
  /// With several rounds: bytes of sums of later groups of micro-batches that wait in the host's
  /// memory at a loss.
  host_group_sums,
  fabric  ///< With several ranks: seconds of the collectives of a step.
};
inline constexpr std::size_t kUses = 40;
/// Amounts of every use, by Use: of one unit, or summed over the units of a plan.
using UseSum = std::array<double, kUses>;
[[nodiscard]] inline double& use_of(UseSum& sum, Use use) {
  return sum[static_cast<std::size_t>(use)];
}

/// Names of the linear program's constraints, in their order in the program.
/// docs/design/relaxation.md and the functions that build them state their inequalities.
enum class Limit : std::uint8_t {
  // Constraints of T, the time of the whole step.
  compute,
  h2d,
  d2h,
  cpu,
  dram,
  cores,
  fabric,  ///< With several ranks: all collectives follow each other.
  /// Cycle of the embedding, from one step to the next: its gradient is stored, the CPU updates its
  /// weights, they are copied, and then all passes come. Together they take no longer than a step.
  embed_cycle,
  /// The cycle of the embedding (embed_cycle), with passes slowed by copies that run beside them.
  embed_slowed,
  /// Without clipping, cycle of the first block that the CPU updates: its gradient is stored, its
  /// weights are updated and copied, and passes come. Together they take no longer than a step.
  block_cycle,
  // Constraints of the time of the first forward part, from the norm to the first loss.
  first_forward,
  first_forward_h2d,
  first_forward_d2h,
  /// With clipping: the embedding's update and copy, then one round's forward passes, fit into the
  /// first forward part one after another.
  embed_chain,
  /// With clipping: the embedding's update and copy, then one round's forward passes slowed by
  /// copies, fit into the first forward part one after another.
  chain_slowed,
  /// With clipping: update and copy of a block that the CPU updates, then the forward passes of all
  /// such blocks, fit into the first forward part one after another.
  block_chain,
  /// With clipping: all CPU updates, then the copy of updated weights that must follow the last,
  /// fit into the first forward part.
  updates,
  /// With clipping: in the first forward part CPU updates and loads move no more than the host's
  /// memory can.
  update_dram,
  /// With clipping: in the first forward part CPU updates and copies take no more time of cores
  /// than there is.
  update_cores,
  /// With clipping: in the first forward part CPU updates, loads and stores move no more than the
  /// host's memory can.
  first_dram,
  /// State that passes through a ring after the norm, but for what the device may hold at the norm,
  /// is loaded; then one round's forward passes come. Both fit into the first forward part.
  ring_chain,
  /// State and gradients that come to a ring after the norm are loaded; then one round's forward
  /// passes come. Both fit into the first forward part.
  late_chain,
  // Constraints of the time of each later forward part, to the round's loss.
  later_forward,
  later_forward_h2d,
  later_forward_d2h,
  // Constraints of the time of the first backward part, to the next round's forward pass or, with
  // one round, to the norm.
  first_backward,
  first_backward_h2d,
  first_backward_d2h,
  // Constraints of the time of each later backward part except the last.
  later_backward,
  later_backward_h2d,
  later_backward_d2h,
  /// Running sums of gradients are loaded, added to and stored through few device slots, one block
  /// after another in each slot.
  later_backward_slots,
  // Constraints of the time of the last backward part, with several rounds, to the norm.
  last_backward,
  last_backward_h2d,
  last_backward_d2h,
  // Constraints of the time of the update span (last backward and next first forward part), without
  // clipping.
  /// Without clipping: all CPU updates fit between the last losses of a step and the first loss of
  /// the next.
  update_span_updates,
  /// Without clipping: in the update span CPU updates and copies move no more than the host's
  /// memory can.
  update_span_dram,
  // Constraints of down_p and up_p, the least seconds of copies to and from the device in a part p
  // of the step.
  /// In the first forward part updated weights (with clipping) or streamed weights (without) must
  /// be loaded.
  refresh,
  /// In the first forward part what the device cannot hold at the loss must be stored.
  first_stores,
  later_streams,  ///< In each later forward part streamed weights must be loaded.
  /// In each later forward part what the device cannot hold at the loss must be stored.
  later_stores,
  /// In the first forward part gradients that waited on the device for the norm must be stored.
  late_stores,
  /// In the first backward part streamed weights and what the device could not hold at the loss
  /// must be loaded.
  first_loads,
  /// In each later backward part streamed weights, running sums of gradients and what the device
  /// could not hold at the loss must be loaded.
  later_loads,
  /// In the last backward part streamed weights, running sums, staged state and what the device
  /// could not hold at the loss must be loaded.
  last_loads,
  /// In the first backward part gradients without a slot to stay in must be stored.
  first_gradients,
  /// In each later backward part gradients without a slot to stay in must be stored.
  later_gradients,
  /// In the last backward part gradients without a slot to stay in must be stored, in their wire
  /// format.
  last_gradients,
  /// In the update span updated weights, streamed weights and running sums must be loaded.
  update_span_loads,
  /// In the update span what update_span_loads counts, staged state and what the device could not
  /// hold at the loss must be loaded.
  update_span_fetches,
  update_span_stores,  ///< In the update span gradients for CPU updates must be stored.
  /// In the update span gradients for CPU updates, staged state and what the device cannot hold at
  /// the loss must be stored.
  update_span_saves,
  all_loads,   ///< Loads of all parts together are at least those of the step.
  all_stores,  ///< Stores of all parts together are at least those of the step.
  // Constraints of memory, in bytes.
  hbm_at_loss,  ///< What is on the device when a loss begins fits its memory.
  /// With one round: what is on the device when the backward pass begins fits its memory.
  hbm_at_backward,
  hbm_at_norm,  ///< What is on the device at the norm fits its memory.
  /// With several rounds: what is on the device in every round, and staged state, fit its memory
  /// together.
  hbm_across_rounds,
  /// With one round: the embedding's staged state, and what is on the device beside it, fit its
  /// memory together.
  hbm_beside_embed,
  host_at_loss,  ///< What is in the host's memory when a loss begins fits it.
  host_at_norm,  ///< What is in the host's memory at the norm fits it.
  /// With several rounds: device slots for blocks' gradients are whole, and at least as many as the
  /// node (RelaxedNode::gradient_slots) says.
  gradient_slots,
  /// No more blocks have their gradients on the host than the node (RelaxedNode::gradient_blocks)
  /// says.
  gradients_few,
  /// No fewer blocks have their gradients on the host than the node (RelaxedNode::gradient_blocks)
  /// says.
  gradients_many,
};
constexpr std::size_t constraint_index(Limit limit) { return static_cast<std::size_t>(limit); }
inline constexpr std::size_t kLimits = 64;
/// Number of constraints of time, which come first in Limit.
inline constexpr std::size_t kTimeLimits = 37;
/// Number of constraints of time and of copies together, which come first in Limit.
inline constexpr std::size_t kSecondLimits = 54;
const char* to_string(Limit limit);
/// Whether the constraint is of a cycle around the whole step (embed_cycle, embed_slowed,
/// block_cycle). Its passes count at their sustained time, not at the shorter one after a rest.
[[nodiscard]] constexpr bool is_cycle(Limit limit) {
  return limit >= Limit::embed_cycle && limit <= Limit::block_cycle;
}

/// Subject of a constraint. The first five are the parts p of which a step consists
/// (docs/design/relaxation.md).
enum class StepPart : std::uint8_t {
  first_forward,
  later_forward,
  first_backward,
  later_backward,
  last_backward,
  whole,  ///< The time of the whole step.
  /// The time of the update span: of the last backward pass and the next step's first forward pass.
  update_span,
  copies,  ///< Seconds of copies in one part of a step or more; copied_in() says which.
  memory   ///< Bytes on the device or on the host at some time of a step.
};
inline constexpr std::size_t kParts = 5;  ///< Number of parts of which a step consists.
/// Number of kinds of constraints of time: of the parts of a step, the whole step and the update
/// span.
inline constexpr std::size_t kTimedParts = kParts + 2;
constexpr std::size_t part_index(StepPart part) { return static_cast<std::size_t>(part); }
/// What the constraint is about: a part of the step or the whole, the update span, copies or
/// memory.
[[nodiscard]] StepPart part_of(Limit limit);
/// How often a step of `rounds` rounds has the part `part`: n_p.
[[nodiscard]] double times_in_step(StepPart part, std::int64_t rounds);

/// Whether `part`, one of those a step consists of, lies in the update span: the last backward pass
/// and the next step's first forward pass.
[[nodiscard]] constexpr bool is_in_update_span(StepPart part) {
  return part == StepPart::first_forward || part == StepPart::last_backward;
}

/// Copies that a constraint limits: those in one direction during one part of the step, during the
/// update span (the last backward pass and the next step's first forward pass), or, where `part` is
/// `whole`, during the whole step.
struct CopiedIn {
  StepPart part = StepPart::whole;
  bool down = true;  ///< Whether the copies go to the device; otherwise they come from it.
};
/// The copies that `limit` is about, which must be a constraint of copies (part_of).
[[nodiscard]] CopiedIn copied_in(Limit limit);

}  // namespace sluice::planner
