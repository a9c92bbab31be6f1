// Sums of gradients over groups of micro-batches, walked as a stack
// (planner/models/group_tree.hpp): the group in progress is summed at its place on the stack, the
// unit's gradient is the sum at place 0, and additions follow the last micro-batch of a group.
// Between rounds every sum of the stack waits where the gradient's running sum does.
#include <algorithm>

#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {
namespace {

std::string at_place(const std::string& name, std::int64_t place) {
  return name + "/sum" + std::to_string(place);
}

}  // namespace

void StepTensors::add_group_sums(GraphWriter& writer, const Job& job, const Plan& plan) {
  const std::int64_t places = GroupWalk(job.groups).depth();
  const std::int64_t kept = sums_between_rounds(job.micro_batches(), job.groups, plan.rounds);
  const auto add = [&](Arena arena, const std::string& name, std::int64_t place,
                       std::int64_t parameters) {
    return writer.add_tensor(
        {arena, at_place(name, place), job.gradient_element() * parameters, "gradients"});
  };
  const std::size_t head = plan.units.size() - 1;
  const std::int64_t outer = std::max(units.front().parameters, units[head].parameters);
  std::int64_t largest_block = 0;
  for (std::size_t unit = 1; unit < head; ++unit) {
    largest_block = std::max(largest_block, units[unit].parameters);
  }
  for (UnitTensorSet& set : units) set.group_sums.resize(static_cast<std::size_t>(places));
  for (std::int64_t place = 1; place <= places; ++place) {
    const auto i = static_cast<std::size_t>(place - 1);
    std::optional<TensorIndex> of_blocks, of_outer;
    if (place <= kept && !gradient_ring.slots.empty()) {
      Ring& ring = group_rings.emplace_back();
      const Bytes size =
          writer.graph().tensors[static_cast<std::size_t>(gradient_ring.slots.front())].bytes;
      for (std::size_t slot = 0; slot < gradient_ring.slots.size(); ++slot) {
        ring.slots.push_back(writer.add_tensor(
            {Arena::device, at_place("gradient_buffer." + std::to_string(slot), place), size,
             "gradients"}));
      }
    }
    for (std::size_t unit = 0; unit <= head; ++unit) {
      UnitTensorSet& set = units[unit];
      const std::string name = unit_name(job.model, unit);
      const bool block = is_block(plan, unit);
      const bool stores = stores_gradient(plan.units[unit]);
      if (place <= kept && stores) {
        set.host_group_sums.push_back(
            add(Arena::host, "gradient.host/" + name, place, set.parameters));
        if (block) continue;  // The sum passes through a ring.
      }
      const bool waits = place <= kept && !stores;
      if (waits || (!block && plan.rounds == 1)) {
        set.group_sums[i] = add(Arena::device, "gradient/" + name, place, set.parameters);
        continue;
      }
      // Units that are at work one after another share bytes.
      std::optional<TensorIndex>& shared = block ? of_blocks : of_outer;
      if (!shared) {
        shared = add(Arena::device, block ? "gradient/blocks" : "gradient.io", place,
                     block ? largest_block : outer);
      }
      set.group_sums[i] = shared;
    }
    if (tied_gradient) {
      tied_group_sums.push_back(
          add(Arena::device, "gradient.tied", place, units.front().parameters));
    }
  }
}

StepEmitter::InGroup StepEmitter::in_group(std::int64_t micro_batch) const {
  const std::int64_t all = job_.micro_batches();
  const std::int64_t group = group_of(all, job_.groups, micro_batch);
  return {group, groups_.place(group), micro_batch == first_of_group(all, job_.groups, group),
          micro_batch + 1 == first_of_group(all, job_.groups, group + 1)};
}

TensorIndex StepEmitter::sum_tensor(std::size_t unit, std::int64_t place) const {
  if (place == 0) return gradient_tensor(unit);
  const auto i = static_cast<std::size_t>(place - 1);
  const std::optional<TensorIndex>& own = tensors_.units[unit].group_sums[i];
  return own ? *own : tensors_.group_rings[i].slot(gradient_slot_[unit]);
}

TensorIndex StepEmitter::tied_tensor(std::int64_t place) const {
  return place == 0 ? *tensors_.tied_gradient
                    : tensors_.tied_group_sums[static_cast<std::size_t>(place - 1)];
}

void StepEmitter::emit_group_sums(std::size_t unit, const InGroup& group, int round) {
  if (job_.groups == 1 || !group.last) return;
  for (std::int64_t i = 0; i < groups_.adds_after(group.group); ++i) {
    const std::int64_t place = group.place - i;
    emit_sum({TaskKind::sum_groups, LaneKind::compute,
              at_place("sum/" + name(unit) + "/g" + std::to_string(group.group), place), round,
              static_cast<int>(unit)},
             sum_tensor(unit, place - 1), sum_tensor(unit, place));
  }
}

void StepEmitter::emit_tied_group_sums(const InGroup& group, int round) {
  if (job_.groups == 1 || !group.last) return;
  for (std::int64_t i = 0; i < groups_.adds_after(group.group); ++i) {
    const std::int64_t place = group.place - i;
    emit_sum({TaskKind::sum_groups, LaneKind::compute,
              at_place("sum/tied/g" + std::to_string(group.group), place), round, 0},
             tied_tensor(place - 1), tied_tensor(place));
  }
}

void StepEmitter::emit_sum(const TaskPlace& place, TensorIndex sum, TensorIndex later) {
  const Bytes bytes = gradient_bytes(static_cast<std::size_t>(place.unit));
  writer_.add_compute(place, Pass::sum_groups,
                      {{Role::gradient, sum, Bytes(0), bytes, Mode::update},
                       {Role::later_gradient, later, Bytes(0), bytes, Mode::read}});
}

std::int64_t StepEmitter::sums_before(int round) const {
  const std::int64_t done = round * plan_.micro_batches_per_round;
  return sums_after(job_.micro_batches(), job_.groups, done);
}

/// Loads the sums above the gradient's, the one at the top, which is needed first, before the
/// others.
void StepEmitter::emit_group_sums_load(std::size_t unit, int round) {
  if (job_.groups == 1) return;
  for (std::int64_t place = sums_before(round) - 1; place >= 1; --place) {
    const TensorIndex home =
        tensors_.units[unit].host_group_sums[static_cast<std::size_t>(place - 1)];
    const Bytes bytes = gradient_bytes(unit);
    writer_.add_copy({TaskKind::load_gradient, LaneKind::h2d,
                      at_place("r" + std::to_string(round) + "/reload/" + name(unit), place), round,
                      static_cast<int>(unit)},
                     {home, Bytes(0), bytes}, {sum_tensor(unit, place), Bytes(0), bytes},
                     plan_.copy_chunk);
  }
}

void StepEmitter::emit_group_sums_store(std::size_t unit, int round) {
  if (job_.groups == 1) return;
  for (std::int64_t place = 1; place < sums_before(round + 1); ++place) {
    const TensorIndex home =
        tensors_.units[unit].host_group_sums[static_cast<std::size_t>(place - 1)];
    const Bytes bytes = gradient_bytes(unit);
    writer_.add_copy({TaskKind::store_gradient, LaneKind::d2h,
                      at_place("r" + std::to_string(round) + "/store/" + name(unit), place), round,
                      static_cast<int>(unit)},
                     {sum_tensor(unit, place), Bytes(0), bytes}, {home, Bytes(0), bytes},
                     plan_.copy_chunk);
  }
}

}  // namespace sluice::planner
