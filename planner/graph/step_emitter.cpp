#include "planner/graph/step_emitter.hpp"

#include <algorithm>
#include <cmath>

#include "planner/costs/eager_work.hpp"
#include "planner/models/unit_classes.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

std::string round_id(int round) { return "r" + std::to_string(round) + "/"; }

}  // namespace

StepEmitter::StepEmitter(GraphWriter& writer, const Job& job, const Plan& plan)
    : writer_(writer),
      job_(job),
      plan_(plan),
      tensors_(writer, job, plan),
      record_(block_record(job)),
      groups_(job.groups),
      sums_(step_sums(job, plan.ranks)),
      staged_(staged_loads(job, plan)),
      staged_stores_(plan.units.size()) {
  gradient_slot_.assign(plan.units.size(), 0);
  stage_slot_.assign(plan.units.size(), 0);
  state_slot_.assign(plan.units.size(), 0);
  disk_slot_.assign(plan.units.size(), 0);
  first_item_.assign(plan.units.size(), 0);
  in_ring_.assign(plan.units.size(), false);
  std::int64_t streamed_gradients = 0, staged_gradients = 0, on_disk = 0;
  for (std::size_t unit = 0; unit <= head(); ++unit) {
    const UnitPlan& choice = plan.units[unit];
    disk_slot_[unit] = on_disk;
    on_disk += std::ssize(writer.graph().disk[unit]);
    if (choice.gradients == Tier::hbm && choice.executor == Executor::cpu)
      stage_slot_[unit] = staged_gradients++;
  }
  for (std::size_t unit = head() - 1; unit >= 1; --unit) {
    if (streams_gradient(plan, plan.units[unit])) gradient_slot_[unit] = streamed_gradients++;
    if (plan.units[unit].keep_tier != Tier::host || in_slots()) continue;
    first_item_[unit] = offloaded_.size();
    for (std::int64_t m = 0; m < plan.micro_batches_per_round; ++m) {
      offloaded_.push_back({unit, static_cast<std::size_t>(m)});
    }
  }
  plan_uses();
  plan_rotation();
}

TaskPlace StepEmitter::pass_place(TaskKind kind, LaneKind lane, const char* pass, std::size_t unit,
                                  int round, std::int64_t micro_batch) const {
  TaskPlace place{kind, lane, {}, round, static_cast<int>(unit), static_cast<int>(micro_batch)};
  if (writer_.names_tasks()) {
    place.id = round_id(round) + pass + "/" + name(unit) + "/m" + std::to_string(micro_batch);
  }
  return place;
}

template <class Add>
void StepEmitter::backward_uses(Add add) const {
  const auto interval = static_cast<std::size_t>(plan_.checkpoint_interval);
  for (std::size_t end = head(); end > 1;) {
    const std::size_t begin = (end - 2) / interval * interval + 1;
    if (interval > 1) {
      for (std::size_t unit = begin; unit < end; ++unit) add(unit, Direction::rebuild);
    }
    for (std::size_t unit = end - 1; unit >= begin; --unit) add(unit, Direction::backward);
    end = begin;
  }
}

void StepEmitter::plan_uses() {
  std::vector<WeightUse> streamed;
  std::vector<std::size_t> streamed_use;
  const auto add = [&](std::size_t unit, int round, Direction direction) {
    UnitUse use{unit, round, direction, false, std::nullopt};
    const UnitPlan& choice = plan_.units[unit];
    if (is_block(unit) && passes_weights(choice)) {
      streamed.push_back({static_cast<std::int64_t>(unit)});
      streamed_use.push_back(uses_.size());
    } else {
      // A resident copy that the CPU's update leaves stale is refreshed once a step; embed and head
      // come once a round unless resident.
      const bool refreshed = round == 0 && choice.executor == Executor::cpu;
      use.loads = direction == Direction::forward && (passes_weights(choice) || refreshed);
    }
    uses_.push_back(use);
  };
  for (int round = 0; round < plan_.rounds; ++round) {
    for (std::size_t unit = 0; unit <= head(); ++unit) add(unit, round, Direction::forward);
    backward_uses([&](std::size_t unit, Direction direction) { add(unit, round, direction); });
  }
  const auto slot_count = static_cast<std::int64_t>(tensors_.weight_ring.slots.size());
  // The ring may have fewer slots than the plan asks for: no more than blocks that stream.
  depth_ = slot_count > 0 ? std::min(plan_.prefetch_depth, slot_count - 1) : plan_.prefetch_depth;
  if (slot_count == 0) return;
  weights_in_slot_.resize(tensors_.weight_ring.slots.size());
  const auto slots = assign_slots(streamed, slot_count, depth_);
  for (std::size_t i = 0; i < streamed.size(); ++i) {
    uses_[streamed_use[i]].slot = slots[i].slot;
    uses_[streamed_use[i]].loads = slots[i].loads;
  }
}

sim::TaskId StepEmitter::emit(int step) {
  writer_.begin_step(step);
  uses_before_step_ = use_ends_.size();
  next_state_ = 0;
  next_disk_weights_ = 0;
  next_sent_ = 0;
  sent_ = stored_ = 0;
  next_received_ = 0;
  emit_tokens();
  for (std::size_t use = 0; use < uses_.size(); ++use) emit_use(use);
  const sim::TaskId grads = emit_grads();
  emit_host_passes(HostPass::Moment::before_update, {grads});
  emit_deferred_updates(grads);
  emit_host_passes(HostPass::Moment::after_update, {grads});
  return grads;
}

void StepEmitter::emit_tokens() {
  const Bytes bytes(2 * job_.tokens() * 4);
  writer_.add_data({TaskKind::data, LaneKind::launch, "data"},
                   {tensors_.host_tokens, Bytes(0), bytes});
  writer_.add_copy({TaskKind::load_tokens, LaneKind::h2d, "tokens"},
                   {tensors_.host_tokens, Bytes(0), bytes}, {tensors_.tokens, Bytes(0), bytes},
                   Bytes(0), barrier_updates_);
  barrier_updates_.clear();
}

void StepEmitter::emit_use(std::size_t index) {
  const UnitUse& use = uses_[index];
  emit_loads_ahead(index);
  if (use.direction == Direction::forward) {
    if (use.unit == head()) {
      emit_loss(use);
      // The backward pass begins: its first offloaded records can come while the last block
      // computes.
      next_item_ = 0;
      while (next_item_ < offloaded_.size() &&
             static_cast<std::int64_t>(next_item_) + 1 < plan_.activation_buffers) {
        emit_record_load(next_item_++, use.round);
      }
    } else if (is_block(use.unit) && in_slots()) {
      emit_slot_forward(use);
    } else {
      emit_forward(use);
    }
    return emit_rotation_after(index);
  }
  if (use.direction == Direction::rebuild) return emit_rebuild(use);
  if (in_slots()) {
    emit_slot_backward(use);
  } else {
    emit_backward(use);
  }
  emit_state_loads_after(use);
  emit_rotation_after(index);
  if (use.unit == 1) {
    emit_embed_backward(use.round);
  }
}

void StepEmitter::emit_loads_ahead(std::size_t index) {
  const auto depth = static_cast<std::size_t>(depth_);
  if (index == 0) {
    for (std::size_t use = 0; use < std::min(depth, uses_.size()); ++use) emit_load(use);
  }
  if (index + depth < uses_.size()) emit_load(index + depth);
}

void StepEmitter::emit_load(std::size_t index) {
  const UnitUse& use = uses_[index];
  if (!use.loads) return;
  // Load of use i may run once use i - depth - 1 is over, in the previous step if need be.
  std::vector<sim::TaskId> after;
  const std::size_t ahead = static_cast<std::size_t>(depth_) + 1;
  const std::size_t global = uses_before_step_ + index;
  if (global >= ahead) after.push_back(use_ends_[global - ahead]);
  const UnitTensorSet& set = tensors_.units[use.unit];
  const Bytes bytes(set.parameters * job_.weight_element().count());
  const TensorIndex destination =
      use.slot ? tensors_.weight_ring.slot(*use.slot) : set.device_weights.value();
  if (use.slot) {
    const std::optional<sim::TaskId> previous = writer_.last_access(destination);
    Bytes& held = weights_in_slot_[static_cast<std::size_t>(*use.slot)];
    if (previous) writer_.release(*previous, tensors_.weight_ring.pool.value(), held);
    held = bytes;
  }
  if (set.shared_weights) return emit_pull(use, destination, after);
  if (plan_.ranks > 1) return emit_load_of_ranks(use, destination, after);
  if (set.disk_weights) return emit_weights_from_disk(use, destination, after);
  const auto copied = writer_.add_copy(
      {TaskKind::load_weights, LaneKind::h2d, load_id(use), use.round, static_cast<int>(use.unit)},
      {set.master.value(), Bytes(0), bytes}, {destination, Bytes(0), bytes}, plan_.copy_chunk,
      after);
  if (use.slot) writer_.acquire(copied, tensors_.weight_ring.pool.value());
}

std::string StepEmitter::load_id(const UnitUse& use) const {
  if (!writer_.names_tasks()) return {};
  return round_id(use.round) + "load/" + name(use.unit) +
         (use.direction == Direction::forward   ? "/fwd"
          : use.direction == Direction::rebuild ? "/again"
                                                : "/bwd");
}

Access StepEmitter::whole(Role role, TensorIndex tensor, Mode mode) const {
  const StepTensor& stored = writer_.graph().tensors[static_cast<std::size_t>(tensor)];
  return {role, tensor, Bytes(0), stored.bytes, mode};
}

Access StepEmitter::tokens_access(std::int64_t micro_batch, bool targets) const {
  const Bytes bytes(4 * job_.micro_tokens());
  const Bytes start(4 * job_.tokens() * (targets ? 1 : 0));
  return {Role::tokens, tensors_.tokens, start + bytes * micro_batch, bytes, Mode::read};
}

std::vector<Access> StepEmitter::document_accesses(std::int64_t micro_batch) const {
  if (job_.attention == AttentionSpan::sequence) return {};
  return {tokens_access(micro_batch, false)};
}

Access StepEmitter::input_access(std::size_t unit, std::int64_t m, Mode mode, Role role) const {
  return input_in(input_in_stream(plan_, unit), unit, m, mode, role);
}

Access StepEmitter::input_in(bool in_stream, std::size_t unit, std::int64_t m, Mode mode,
                             Role role) const {
  const auto number = static_cast<std::size_t>(m);
  const TensorIndex tensor =
      in_stream ? stream(unit, number) : tensors_.units[unit].records[number];
  return {role, tensor, Bytes(0), record_.input_bytes, mode};
}

Access StepEmitter::weights_access(const UnitUse& use) const {
  const UnitTensorSet& set = tensors_.units[use.unit];
  const TensorIndex tensor =
      use.slot ? tensors_.weight_ring.slot(*use.slot) : set.device_weights.value();
  return {Role::weights, tensor, Bytes(0), Bytes(set.parameters * job_.weight_element().count()),
          Mode::read};
}

std::vector<Access> StepEmitter::form_accesses(const UnitUse& use) const {
  const std::optional<TensorIndex>& forms = tensors_.units[use.unit].fp8_forms;
  if (!forms) return {};
  return {whole(Role::fp8_forms, *forms, use.round == 0 ? Mode::update : Mode::read)};
}

TensorIndex StepEmitter::gradient_tensor(std::size_t unit) const {
  const UnitTensorSet& set = tensors_.units[unit];
  return set.device_gradient ? *set.device_gradient
                             : tensors_.gradient_ring.slot(gradient_slot_[unit]);
}

Access StepEmitter::gradient_access(std::size_t unit, bool first, std::int64_t place) const {
  return {Role::gradient, sum_tensor(unit, place), Bytes(0), gradient_bytes(unit),
          first ? Mode::write : Mode::update};
}

Bytes StepEmitter::norm_blocks_bytes(std::size_t unit) const {
  return Bytes((tensors_.units[unit].parameters + kNormBlock - 1) / kNormBlock * 8);
}

sim::TaskId StepEmitter::emit_launch(const char* pass, std::size_t unit, int round, Pass work) {
  std::int64_t kernels = work_of(job_, work, class_representative(job_.model, unit)).kernels *
                         plan_.micro_batches_per_round;
  if (job_.operators == Operators::eager) {
    kernels = std::llround(kLaunchesOfEagerOperator * static_cast<double>(kernels));
  }
  return writer_.add_launch(
      {TaskKind::launch, LaneKind::launch, round_id(round) + "launch/" + pass + "/" + name(unit),
       round, static_cast<int>(unit)},
      kernels);
}

sim::TaskId StepEmitter::emit_grads() {
  if (plan_.ranks > 1) emit_sums_of_ranks();
  std::vector<Access> accesses{whole(Role::norm_sum, tensors_.norm_sums, Mode::read),
                               whole(Role::loss_sum, tensors_.loss_sum, Mode::read)};
  if (tensors_.balance_loss) {
    accesses.push_back(whole(Role::balance_loss, *tensors_.balance_loss, Mode::read));
  }
  return writer_.add_grads({TaskKind::grads, LaneKind::compute, "grads"}, std::move(accesses));
}

}  // namespace sluice::planner
