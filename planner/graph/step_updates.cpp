// Tasks that follow a unit's gradient in the step graph: norm, store, update, and loads of staged
// state.
#include <algorithm>

#include "planner/graph/step_emitter.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

void StepEmitter::emit_gradient_finish(std::size_t unit, int round) {
  const UnitPlan& choice = plan_.units[unit];
  const UnitTensorSet& set = tensors_.units[unit];
  if (last_round(round)) {
    Access gradient = gradient_access(unit, false);
    if (job_.gradient_wire == GradientWire::fp32) gradient.mode = Mode::read;
    writer_.add_compute(
        {TaskKind::norm, LaneKind::compute, "norm/" + name(unit), round, static_cast<int>(unit)},
        Pass::norm,
        {gradient,
         {Role::norm_blocks, tensors_.norm_blocks, Bytes(0), norm_blocks_bytes(unit), Mode::write},
         {Role::norm_sum, tensors_.norm_sums, Bytes(8 * static_cast<std::int64_t>(unit)), Bytes(8),
          Mode::write}});
  }
  const bool used_in_place = last_round(round) && rotates_under_backward(choice);
  if (choice.gradients == Tier::host && !used_in_place) {
    emit_store(unit, round, set.host_gradient.value(), {});
    if (!last_round(round)) emit_group_sums_store(unit, round);
  }
  if (choice.gradients == Tier::disk) emit_gradient_to_disk(unit, round);
  if (last_round(round) && choice.when == When::backward) emit_update(unit, {});
}

void StepEmitter::emit_store(std::size_t unit, int round, TensorIndex destination,
                             const std::vector<sim::TaskId>& after) {
  const Bytes bytes = last_round(round)
                          ? job_.gradient_wire_element() * tensors_.units[unit].parameters
                          : gradient_bytes(unit);
  const auto copied = writer_.add_copy(
      {TaskKind::store_gradient, LaneKind::d2h,
       "r" + std::to_string(round) + "/store/" + name(unit), round, static_cast<int>(unit)},
      {gradient_tensor(unit), Bytes(0), bytes}, {destination, Bytes(0), bytes}, plan_.copy_chunk,
      after);
  const bool in_ring = !tensors_.units[unit].device_gradient;
  const Bytes held = gradient_bytes(unit);
  if (in_ring) writer_.release(copied, *tensors_.gradient_ring.pool, held - bytes);
}

std::vector<StepEmitter::StagedPart> StepEmitter::staged_parts(std::size_t unit) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const Bytes moment = job_.moment_bytes(set.parameters);
  // Low halves alone are the second half of the master.
  const Bytes lacking = staged_bytes(plan_.units[unit], job_, set.parameters) - moment * 2;
  const Bytes start = job_.master_bytes(set.parameters) - lacking;
  std::vector<StagedPart> parts;
  Bytes in_slot{0};
  const auto add = [&](const char* part, Range home, const std::optional<TensorIndex>& own) {
    const Range staged =
        own ? Range{*own, Bytes(0), home.bytes} : Range{state_slot(unit), in_slot, home.bytes};
    in_slot += home.bytes;
    parts.push_back({part, home, staged});
  };
  if (lacking.count() > 0) add("master", {*set.master, start, lacking}, set.staged_master);
  add("m", {*set.moment1, Bytes(0), moment}, set.staged_moment1);
  add("v", {*set.moment2, Bytes(0), moment}, set.staged_moment2);
  return parts;
}

void StepEmitter::emit_part_load(std::size_t unit, const StagedPart& part,
                                 const std::vector<sim::TaskId>& after) {
  writer_.add_copy(
      {TaskKind::load_state, LaneKind::h2d, "state/" + name(unit) + "/load/" + part.name,
       static_cast<int>(plan_.rounds) - 1, static_cast<int>(unit)},
      part.home, part.staged, plan_.copy_chunk, after);
}

void StepEmitter::emit_state_load(std::size_t unit, const std::vector<sim::TaskId>& after) {
  for (const StagedPart& part : staged_parts(unit)) emit_part_load(unit, part, after);
}

void StepEmitter::emit_state_loads_after(const UnitUse& use) {
  // One a use, so that weights which are loaded too come between them.
  const bool end = use.unit == 1 && last_round(use.round);
  while (next_state_ < staged_.size() && !staged_[next_state_].takes_record_of) {
    emit_state_load(staged_[next_state_++].unit, {});
    if (!end) break;
  }
  if (!last_round(use.round)) return;
  for (std::size_t i = next_state_; i < staged_.size(); ++i) {
    if (staged_[i].takes_record_of == use.unit) {
      emit_state_load(staged_[i].unit, {use_ends_.back()});
    }
  }
}

void StepEmitter::emit_state_store(std::size_t unit) {
  const UnitTensorSet& set = tensors_.units[unit];
  const TaskPlace place{TaskKind::store_state, LaneKind::d2h, "state/" + name(unit) + "/store/",
                        static_cast<int>(plan_.rounds) - 1, static_cast<int>(unit)};
  const auto store = [&](const char* part, Range from, Range to) {
    TaskPlace at = place;
    at.id += part;
    staged_stores_[unit] = writer_.add_copy(at, from, to, plan_.copy_chunk).last;
  };
  for (const StagedPart& part : staged_parts(unit)) store(part.name, part.staged, part.home);
  if (plan_.units[unit].weights != Tier::hbm) return;
  const Bytes bytes(set.parameters * job_.weight_element().count());
  store("copy", {*set.device_weights, Bytes(0), bytes}, {*set.master, Bytes(0), bytes});
}

std::vector<sim::TaskId> StepEmitter::stores_before_record(std::size_t unit) const {
  std::vector<sim::TaskId> before;
  for (const StagedLoad& load : staged_) {
    if (load.takes_record_of == unit && staged_stores_[load.unit]) {
      before.push_back(*staged_stores_[load.unit]);
    }
  }
  return before;
}

std::vector<Access> StepEmitter::master_accesses(std::size_t unit) const {
  const UnitPlan& choice = plan_.units[unit];
  const UnitTensorSet& set = tensors_.units[unit];
  const Bytes half(2 * set.parameters);
  const auto access = [half](Role role, Range at) {
    return Access{role, at.tensor, at.offset, half, Mode::update};
  };
  Range high{set.master.value_or(TensorIndex{})};
  if (choice.executor == Executor::gpu) {
    high = choice.weights == Tier::hbm ? Range{set.device_weights.value()}
                                       : staged_parts(unit).front().staged;
  }
  if (job_.master_bytes(1) == Bytes(2)) return {access(Role::weights, high)};
  // Low halves follow the high ones, unless the weights on the device are high halves alone.
  const bool apart = writer_.graph().tensors[static_cast<std::size_t>(high.tensor)].bytes == half;
  const Range low =
      apart ? staged_parts(unit).front().staged : Range{high.tensor, high.offset + half};
  return {access(Role::weights, high), access(Role::low, low)};
}

void StepEmitter::emit_update(std::size_t unit, const std::vector<sim::TaskId>& after) {
  const UnitPlan& choice = plan_.units[unit];
  const UnitTensorSet& set = tensors_.units[unit];
  if (rotates_state(choice)) emit_rotation_to(unit, after);
  if (choice.gradients == Tier::disk) return emit_disk_update(unit, std::nullopt, after);
  const bool on_device = choice.executor == Executor::gpu;
  const Bytes gradient_bytes(set.parameters * job_.gradient_wire_element().count());
  TensorIndex gradient{};
  Bytes gradient_start{0};
  if (rotates_gradient(choice)) {
    const Range place = rotating_gradient(unit).staged;
    gradient = place.tensor;
    gradient_start = place.offset;
  } else if (on_device) {
    gradient = gradient_tensor(unit);
  } else if (choice.gradients == Tier::host) {
    gradient = set.host_gradient.value();
  } else {
    gradient = tensors_.host_gradient_ring.slot(stage_slot_[unit]);
    emit_store(unit, static_cast<int>(plan_.rounds) - 1, gradient, after);
  }
  if (choice.state == Tier::disk) return emit_disk_update(unit, gradient, after);
  const bool staged = stages_state(choice);
  std::vector<Access> accesses = master_accesses(unit);
  if (staged) {
    const std::vector<StagedPart> parts = staged_parts(unit);
    const auto moment = [](Role role, const Range& at) {
      return Access{role, at.tensor, at.offset, at.bytes, Mode::update};
    };
    accesses.push_back(moment(Role::moment1, parts[parts.size() - 2].staged));
    accesses.push_back(moment(Role::moment2, parts.back().staged));
  } else {
    accesses.push_back(whole(Role::moment1, *set.moment1, Mode::update));
    accesses.push_back(whole(Role::moment2, *set.moment2, Mode::update));
  }
  accesses.push_back({Role::gradient, gradient, gradient_start, gradient_bytes, Mode::read});
  const sim::TaskId task = writer_.add_update(
      {TaskKind::update, on_device ? LaneKind::compute : LaneKind::cpu, "update/" + name(unit),
       static_cast<int>(plan_.rounds) - 1, static_cast<int>(unit)},
      set.parameters, plan_.threads, std::move(accesses), after);
  if (choice.when == When::after) barrier_updates_.push_back(task);
  if (rotates_under_backward(choice) && !set.device_gradient) {
    writer_.release(task, *tensors_.gradient_ring.pool, this->gradient_bytes(unit));
  }
  if (staged) emit_state_store(unit);
}

void StepEmitter::emit_deferred_updates(sim::TaskId grads) {
  for (const When when : {When::after, When::forward}) {
    for (std::size_t unit = 0; unit <= head(); ++unit) {
      if (plan_.units[unit].when == when) emit_update(unit, {grads});
    }
  }
}

}  // namespace sluice::planner
