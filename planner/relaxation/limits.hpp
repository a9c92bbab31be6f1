// What the relaxation speaks of: uses of units, constraints by name, parts of a step.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice::planner {

/// What units use in a step. `u` of docs/design/relaxation.md: a_uc is what one unit with choice c
/// uses, y_u the sum over all units of a plan.
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
  staged,        ///< Bytes of state that visits the device.
  resident,      ///< Bytes that stay on the device.
  records,       ///< Bytes of a round's records, wherever they wait.
  device_records,  ///< Bytes of a round's records that stay on the device.
  streamed,        ///< Bytes of blocks' weights that do not stay on the device.
  scratch,         ///< Bytes of device slots, each shared by the units that use it.
  record_slots,    ///< Bytes of device slots for records, likewise.
  waiting,         ///< Bytes of gradients that wait on the device for the norm.
  summed,          ///< Bytes of gradient sums that the device keeps from round to round.
  loss_slots,      ///< Bytes of device slots in use at a loss, beyond `scratch`; with several
                   ///< rounds at a later round's loss.
  early_staged,    ///< Bytes of `staged` that take a record's place or come before the last loss.
  embed_staged,    ///< Bytes of the embedding's staged state.
  reloads,         ///< Bytes of gradient sums that come back between rounds, beyond slots.
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
  embed_cycle,   ///< The embedding's gradient is stored, updated, copied; then come all passes.
  embed_slowed,  ///< The same cycle with passes slowed by copies.
  block_cycle,   ///< Without clipping: the same cycle of the first block that the CPU updates.
  // Constraints of the first forward part's time, from the norm to the first loss.
  first_forward,
  first_forward_h2d,
  first_forward_d2h,
  embed_chain,   ///< With clipping: the embedding's update and copy, then one round's passes.
  chain_slowed,  ///< The same chain with passes slowed by copies.
  block_chain,   ///< With clipping: a block's update and copy, then all passes that wait for such.
  updates,       ///< With clipping: all CPU updates and the copy of the last.
  update_dram,   ///< Host memory's rate that updates and loads share.
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
  update_span_updates,  ///< All CPU updates lie between the last losses and the next first one.
  update_span_dram,     ///< Host memory's rate that they and copies share.
  // Constraints of what is copied at least in a part, as seconds of its link.
  refresh,            ///< Between norm and loss: updated weights with clipping, else what streams.
  first_stores,       ///< What the device cannot hold when the loss begins leaves during forward.
  later_streams,      ///< Weights that stream come in each later forward pass.
  later_stores,       ///< What the device cannot hold at a later loss leaves in each forward pass.
  late_stores,        ///< Gradients that waited on the device for the norm leave in forward.
  first_loads,        ///< What could not be held at the loss comes during backward.
  later_loads,        ///< The same of later rounds, with the running sums of gradients.
  last_loads,         ///< The same of the last round, with staged state.
  first_gradients,    ///< Gradients that have no slot to stay in leave in the first backward pass.
  later_gradients,    ///< The same of each later backward pass.
  last_gradients,     ///< The same of the last one, as bytes on the wire.
  update_span_loads,  ///< In the update span: updated weights and what its backward pass needs.
  update_span_fetches,  ///< The same loads with what could not be held.
  update_span_stores,   ///< In the update span: gradients for CPU updates.
  update_span_saves,    ///< The same stores with what cannot be held.
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
  gradients_few,      ///< At most so many blocks have their gradients on the host.
  gradients_many,     ///< At least so many blocks have their gradients on the host.
};
constexpr std::size_t constraint_index(Limit limit) { return static_cast<std::size_t>(limit); }
inline constexpr std::size_t kLimits = 61;
inline constexpr std::size_t kTimeLimits = 34;    ///< The first so many are of time.
inline constexpr std::size_t kSecondLimits = 51;  ///< The first so many are of time or of copies.
const char* to_string(Limit limit);
/// Whether the constraint is a cycle around the whole step, whose passes count as sustained.
[[nodiscard]] constexpr bool is_cycle(Limit limit) {
  return limit >= Limit::embed_cycle && limit <= Limit::block_cycle;
}

/// What a constraint speaks of. The first five are the parts that a step consists of, p of
/// docs/design/relaxation.md.
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
inline constexpr std::size_t kParts = 5;                ///< Parts that a step consists of.
inline constexpr std::size_t kTimedParts = kParts + 2;  ///< These, the whole and the update span.
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
  bool down = true;  ///< Copies to the device, else from it.
};
/// The copies that a constraint whose part is `copies` is about.
[[nodiscard]] CopiedIn copied_in(Limit limit);

}  // namespace sluice::planner
