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
  if (choice.gradients == Tier::host) emit_store(unit, round, set.host_gradient.value(), {});
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
  const Bytes master = job_.master_bytes(set.parameters);
  const Bytes moment = job_.moment_bytes(set.parameters);
  std::vector<StagedPart> parts;
  if (set.staged_master) {
    const Bytes bytes = writer_.graph().tensors[static_cast<std::size_t>(*set.staged_master)].bytes;
    // Low halves alone are the second half of the master.
    const Bytes start = master - bytes;
    parts.push_back({"master", {*set.master, start, bytes}, {*set.staged_master, Bytes(0), bytes}});
  }
  parts.push_back({"m", {*set.moment1, Bytes(0), moment}, {*set.staged_moment1, Bytes(0), moment}});
  parts.push_back({"v", {*set.moment2, Bytes(0), moment}, {*set.staged_moment2, Bytes(0), moment}});
  return parts;
}

void StepEmitter::emit_state_load(const StagedLoad& load) {
  std::vector<sim::TaskId> after;
  if (load.takes_record_of) after.push_back(use_ends_.back());
  for (const StagedPart& part : staged_parts(load.unit)) {
    writer_.add_copy(
        {TaskKind::load_state, LaneKind::h2d, "state/" + name(load.unit) + "/load/" + part.name,
         static_cast<int>(plan_.rounds) - 1, static_cast<int>(load.unit)},
        part.home, part.staged, plan_.copy_chunk, after);
  }
}

void StepEmitter::emit_state_loads_after(const UnitUse& use) {
  // One a use, so that weights which are loaded too come between them.
  const bool end = use.unit == 1 && last_round(use.round);
  while (next_state_ < staged_.size() && !staged_[next_state_].takes_record_of) {
    emit_state_load(staged_[next_state_++]);
    if (!end) break;
  }
  if (!last_round(use.round)) return;
  for (std::size_t i = next_state_; i < staged_.size(); ++i) {
    if (staged_[i].takes_record_of == use.unit) emit_state_load(staged_[i]);
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
  TensorIndex high = choice.executor == Executor::cpu ? set.master.value() : TensorIndex{};
  if (choice.executor == Executor::gpu) {
    high = choice.weights == Tier::hbm ? set.device_weights.value() : set.staged_master.value();
  }
  if (job_.master_bytes(1) == Bytes(2))
    return {{Role::weights, high, Bytes(0), half, Mode::update}};
  // Low halves follow the high ones, unless the weights on the device are high halves alone.
  const bool apart = writer_.graph().tensors[static_cast<std::size_t>(high)].bytes == half;
  const Access low = apart ? whole(Role::low, set.staged_master.value(), Mode::update)
                           : Access{Role::low, high, half, half, Mode::update};
  return {{Role::weights, high, Bytes(0), half, Mode::update}, low};
}

void StepEmitter::emit_update(std::size_t unit, const std::vector<sim::TaskId>& after) {
  const UnitPlan& choice = plan_.units[unit];
  const UnitTensorSet& set = tensors_.units[unit];
  if (rotates_state(choice)) return emit_rotating_update(unit, after);
  if (choice.gradients == Tier::disk) return emit_disk_update(unit, std::nullopt, after);
  const bool on_device = choice.executor == Executor::gpu;
  const Bytes gradient_bytes(set.parameters * job_.gradient_wire_element().count());
  TensorIndex gradient{};
  if (on_device) {
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
  accesses.push_back(
      whole(Role::moment1, staged ? *set.staged_moment1 : *set.moment1, Mode::update));
  accesses.push_back(
      whole(Role::moment2, staged ? *set.staged_moment2 : *set.moment2, Mode::update));
  accesses.push_back({Role::gradient, gradient, Bytes(0), gradient_bytes, Mode::read});
  const sim::TaskId task = writer_.add_update(
      {TaskKind::update, on_device ? LaneKind::compute : LaneKind::cpu, "update/" + name(unit),
       static_cast<int>(plan_.rounds) - 1, static_cast<int>(unit)},
      set.parameters, plan_.threads, std::move(accesses), after);
  if (choice.when == When::after) barrier_updates_.push_back(task);
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
