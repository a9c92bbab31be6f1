// Tasks that follow a unit's gradient in the step graph: norm, store, update, and loads of staged
// state.
#include <algorithm>

#include "planner/costs/cost_key.hpp"
#include "planner/graph/step_emitter.hpp"
#include "planner/models/muon.hpp"
#include "sim/error.hpp"

namespace sluice::planner {

void StepEmitter::emit_combine(int round) {
  const TaskPlace place{TaskKind::combine, LaneKind::compute, "combine/embed", round, 0};
  const Access gradient = summed_gradient(0, Mode::update);
  const Access tied = gradient_slice(Role::tied_gradient, 0, *tensors_.tied_gradient, Mode::read);
  if (plan_.ranks == 1) {
    writer_.add_compute(place, Pass::combine, {gradient, tied});
    return;
  }
  const std::int64_t slice = tensors_.units[0].slice;
  writer_.add_work(place, slice_key(job_, Pass::combine, plan_.ranks, slice),
                   slice_work(job_, Pass::combine, plan_.ranks, slice), {gradient, tied});
}

void StepEmitter::emit_norm(std::size_t unit, int round) {
  const TaskPlace place{TaskKind::norm, LaneKind::compute, "norm/" + name(unit), round,
                        static_cast<int>(unit)};
  const bool rounds_to_wire = job_.gradient_wire != GradientWire::fp32;
  const Access gradient = summed_gradient(unit, rounds_to_wire ? Mode::update : Mode::read);
  if (plan_.ranks == 1) {
    writer_.add_compute(
        place, Pass::norm,
        {gradient,
         {Role::norm_blocks, tensors_.norm_blocks, Bytes(0), norm_blocks_bytes(unit), Mode::write},
         {Role::norm_sum, tensors_.norm_sums, Bytes(8 * static_cast<std::int64_t>(unit)), Bytes(8),
          Mode::write}});
    return;
  }
  const std::int64_t slice = tensors_.units[unit].slice;
  const StepSums::Part& blocks = sums_.norm_blocks[unit];
  writer_.add_work(place, slice_key(job_, Pass::norm, plan_.ranks, slice),
                   slice_work(job_, Pass::norm, plan_.ranks, slice),
                   {gradient,
                    {Role::norm_blocks, tensors_.norm_blocks, blocks.offset, blocks.bytes,
                     Mode::write, sums_.run}});
}

void StepEmitter::emit_gradient_finish(std::size_t unit, int round) {
  const UnitPlan& choice = plan_.units[unit];
  const UnitTensorSet& set = tensors_.units[unit];
  if (last_round(round)) {
    if (unit == 0 && job_.model.tied_head) emit_combine(round);
    emit_norm(unit, round);
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
  Range source{gradient_tensor(unit), Bytes(0), gradient_bytes(unit)};
  if (last_round(round)) source = wire_gradient(unit);
  const auto copied = writer_.add_copy(
      {TaskKind::store_gradient, LaneKind::d2h,
       "r" + std::to_string(round) + "/store/" + name(unit), round, static_cast<int>(unit)},
      source, {destination, Bytes(0), source.bytes}, plan_.copy_chunk, after);
  const UnitTensorSet& set = tensors_.units[unit];
  const bool in_ring = !set.device_gradient && !set.waiting_slice;
  const Bytes held = gradient_bytes(unit);
  if (in_ring) writer_.release(copied, *tensors_.gradient_ring.pool, held - source.bytes);
}

Range StepEmitter::wire_gradient(std::size_t unit) const {
  const Access slice = summed_gradient(unit, Mode::read);
  const Bytes bytes = job_.gradient_wire_element() * tensors_.units[unit].slice;
  return {slice.tensor, slice.offset, bytes, slice.rank_stride};
}

std::vector<StepEmitter::StagedPart> StepEmitter::staged_parts(std::size_t unit) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const Bytes moment = job_.moment_bytes(set.slice), second = job_.moment_bytes(set.second);
  // Low halves alone are the second half of the master.
  const Bytes lacking = staged_bytes(plan_.units[unit], job_, set.slice_size()) - moment - second;
  const Bytes start = job_.master_bytes(set.slice) - lacking;
  std::vector<StagedPart> parts;
  Bytes in_slot{0};
  const auto add = [&](const char* part, Range home, const std::optional<TensorIndex>& own,
                       Bytes at = Bytes(0)) {
    const Range staged =
        own ? Range{*own, at, home.bytes} : Range{state_slot(unit), in_slot, home.bytes};
    in_slot += home.bytes;
    parts.push_back({part, home, staged});
  };
  if (set.shared_weights && lacking.count() > 0) {
    add("high", host_plane(unit, 0), set.staged_master);
    const Range low = host_plane(unit, 1);
    if (lacking > low.bytes) add("low", low, set.staged_master, low.bytes);
  } else if (lacking.count() > 0) {
    add("master", {*set.master, start, lacking}, set.staged_master);
  }
  add("m", {*set.moment1, Bytes(0), moment}, set.staged_moment1);
  add("v", {*set.moment2, Bytes(0), second}, set.staged_moment2);
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
  if (plan_.ranks == 1) {
    const Bytes bytes(set.parameters * job_.weight_element().count());
    return store("copy", {*set.device_weights, Bytes(0), bytes}, {*set.master, Bytes(0), bytes});
  }
  for (std::int64_t plane = 0; plane < weight_planes(); ++plane) {
    const Range from = resident_plane(unit, plane);
    store(plane == 0 ? "copy" : "copy/low", from, {*set.master, from.bytes * plane, from.bytes});
  }
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
  const Bytes half(2 * set.slice);
  const auto access = [half](Role role, const Range& at) {
    return Access{role, at.tensor, at.offset, half, Mode::update, at.rank_stride};
  };
  const bool resident = choice.executor == Executor::gpu && choice.weights == Tier::hbm;
  const bool on_host = choice.executor == Executor::cpu;
  const Range high = on_host    ? host_plane(unit, 0)
                     : resident ? resident_plane(unit, 0)
                                : staged_parts(unit).front().staged;
  if (job_.master_bytes(1) == Bytes(2)) return {access(Role::weights, high)};
  if (on_host) return {access(Role::weights, high), access(Role::low, host_plane(unit, 1))};
  // Low halves follow the high ones, unless the weights on the device are high halves alone.
  Range low{high.tensor, high.offset + half};
  if (resident) {
    const bool both = choice.state == Tier::hbm || weight_planes() == 2;
    low = both ? resident_plane(unit, 1) : staged_parts(unit).front().staged;
  }
  return {access(Role::weights, high), access(Role::low, low)};
}

void StepEmitter::emit_update(std::size_t unit, const std::vector<sim::TaskId>& after) {
  const UnitPlan& choice = plan_.units[unit];
  const UnitTensorSet& set = tensors_.units[unit];
  if (rotates_state(choice)) emit_rotation_to(unit, after);
  if (choice.gradients == Tier::disk) return emit_disk_update(unit, std::nullopt, after);
  const bool on_device = choice.executor == Executor::gpu;
  Range gradient{TensorIndex{}, Bytes(0), job_.gradient_wire_element() * set.slice};
  if (rotates_gradient(choice)) {
    gradient = rotating_gradient(unit).staged;
  } else if (on_device) {
    gradient = wire_gradient(unit);
  } else if (choice.gradients == Tier::host) {
    gradient.tensor = set.host_gradient.value();
  } else {
    gradient.tensor = tensors_.host_gradient_ring.slot(stage_slot_[unit]);
    emit_store(unit, static_cast<int>(plan_.rounds) - 1, gradient.tensor, after);
  }
  if (choice.state == Tier::disk) return emit_disk_update(unit, gradient.tensor, after);
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
  accesses.push_back({Role::gradient, gradient.tensor, gradient.offset, gradient.bytes, Mode::read,
                      gradient.rank_stride});
  if (muon_updates(job_, unit)) {
    accesses.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
  }
  const sim::TaskId task = writer_.add_update(
      {TaskKind::update, on_device ? LaneKind::compute : LaneKind::cpu, "update/" + name(unit),
       static_cast<int>(plan_.rounds) - 1, static_cast<int>(unit)},
      set.slice, plan_.threads, std::move(accesses), after);
  if (choice.when == When::after) barrier_updates_.push_back(task);
  if (rotates_under_backward(choice) && !set.device_gradient) {
    writer_.release(task, *tensors_.gradient_ring.pool, gradient_bytes(unit));
  }
  if (staged) emit_state_store(unit);
  if (on_device) emit_gather_of_updated(unit);
}

void StepEmitter::emit_deferred_updates(sim::TaskId grads) {
  for (const When when : {When::after, When::forward}) {
    for (std::size_t unit = 0; unit <= head(); ++unit) {
      if (plan_.units[unit].when == when) emit_update(unit, {grads});
    }
  }
}

}  // namespace sluice::planner
