// Updates on the device of units whose state passes through a ring of slots: it comes from the host
// to a slot, is updated there and goes back, and the slot is the next unit's.
#include <algorithm>

#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {

/// Units are updated under the backward pass from the head to the embedding, then the others from
/// the embedding to the head, and take slots in this order. With n slots the state of a unit under
/// the backward pass is loaded n - 1 updates before its own: the slot's last occupant was updated
/// before that, so loads behind this one on the lane do not wait for a pass.
void StepEmitter::plan_rotation() {
  rotation_.resize(uses_.size());
  std::vector<std::size_t> backward, after;
  for (std::size_t unit = 0; unit <= head(); ++unit) {
    if (!rotates_state(plan_.units[unit])) continue;
    if (rotates_under_backward(plan_.units[unit])) {
      backward.insert(backward.begin(), unit);
    } else {
      after.push_back(unit);
    }
  }
  std::int64_t occupants = 0;
  for (const auto* units : {&backward, &after}) {
    for (const std::size_t unit : *units) {
      if (!tensors_.units[unit].state_slot) state_slot_[unit] = occupants++;
    }
  }
  plan_rotation_under_backward(backward);
  // Each slot's first occupant among the other blocks comes when the last block's gradient is
  // known.
  std::vector<TensorIndex> taken;
  for (const std::size_t unit : after) {
    const TensorIndex slot = state_slot(unit);
    if (std::ranges::find(taken, slot) != taken.end()) continue;
    taken.push_back(slot);
    if (rotates_early(plan_.units[unit], is_block(unit))) rotation_.back().push_back(unit);
  }
}

void StepEmitter::plan_rotation_under_backward(const std::vector<std::size_t>& units) {
  const auto slots = std::max(std::ssize(tensors_.state_ring.slots), std::ptrdiff_t{1});
  const auto ahead = static_cast<std::size_t>(slots - 1);
  if (units.empty() || ahead == 0) return;
  // The last use of a unit's weights; the embedding is updated after all uses.
  const auto updated_after = [this](std::size_t unit) {
    std::size_t use = uses_.size() - 1;
    while (unit != 0 && uses_[use].unit != unit) --use;
    return use;
  };
  const std::size_t first = uses_.size() - uses_.size() / static_cast<std::size_t>(plan_.rounds);
  for (std::size_t i = 0; i < units.size(); ++i) {
    std::size_t use = updated_after(units[i < ahead ? 0 : i - ahead]);
    if (i < ahead) use -= std::min(use - first, ahead - i);
    // Embedding and head share a slot.
    if (i > 0 && units[i] == 0 && tensors_.units[0].state_slot && units.front() == head()) {
      use = std::max(use, updated_after(head()));
    }
    rotation_[use].push_back(units[i]);
  }
}

void StepEmitter::emit_rotation_after(std::size_t use) {
  for (const std::size_t unit : rotation_[use]) {
    // With several ranks the slot's last occupant may wait for the sum of its gradient.
    const bool held = pending_ && rotates_under_backward(plan_.units[pending_->unit]) &&
                      state_slot(pending_->unit) == state_slot(unit);
    if (held) sum_ranks_of_pending(0);
    emit_state_load(unit, {});
    in_ring_[unit] = true;
  }
}

StepEmitter::StagedPart StepEmitter::rotating_gradient(std::size_t unit) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const Bytes state = staged_bytes(plan_.units[unit], job_, set.slice_size());
  const Bytes gradient = job_.gradient_wire_element() * set.slice;
  return {"gradient",
          {set.host_gradient.value(), Bytes(0), gradient},
          {state_slot(unit), state, gradient}};
}

void StepEmitter::emit_rotation_to(std::size_t unit, const std::vector<sim::TaskId>& after) {
  const UnitPlan& choice = plan_.units[unit];
  const bool waits = !rotates_under_backward(choice) && !rotates_early(choice, is_block(unit));
  const std::vector<sim::TaskId> before = waits ? after : std::vector<sim::TaskId>{};
  if (!in_ring_[unit]) emit_state_load(unit, before);
  in_ring_[unit] = false;
  if (rotates_gradient(plan_.units[unit])) emit_part_load(unit, rotating_gradient(unit), before);
}

}  // namespace sluice::planner
