// Forward, loss and backward passes of the step graph.
#include <algorithm>

#include "planner/graph/step_emitter.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Usual largest number of accesses of a pass, for which room is made.
constexpr std::size_t kMostAccesses = 10;

template <class Item>
void extend(std::vector<Item>& items, const std::vector<Item>& more) {
  items.insert(items.end(), more.begin(), more.end());
}

std::vector<sim::TaskId> only_for_first(std::int64_t m, sim::TaskId launch) {
  return m == 0 ? std::vector{launch} : std::vector<sim::TaskId>{};
}

}  // namespace

void StepEmitter::emit_forward(const UnitUse& use) {
  const std::size_t unit = use.unit;
  const bool block = is_block(unit);
  if (!block) next_saved_ = 0;
  const Pass pass = block ? Pass::block_forward : Pass::embed_forward;
  const sim::TaskId launch = emit_launch("fwd", unit, use.round, pass);
  const UnitPlan& choice = plan_.units[unit];
  const Bytes kept = record_.kept(choice.keep);
  std::vector<sim::TaskId> waits{launch};
  if (use.round == 0) {
    // This pass writes the input of the next block's record, too.
    if (block) extend(waits, stores_before_record(unit));
    extend(waits, stores_before_record(unit + 1));
  }
  for (std::int64_t m = 0; m < plan_.micro_batches_per_round; ++m) {
    const std::int64_t micro = micro_batch(use.round, m);
    std::vector<Access> accesses;
    accesses.reserve(kMostAccesses);
    accesses.push_back(weights_access(use));
    if (block) {
      extend(accesses, form_accesses(use));
      accesses.push_back(input_access(unit, m, Mode::read, Role::input));
      if (kept > record_.input_bytes) {
        const TensorIndex record = choice.keep_tier == Tier::host
                                       ? tensors_.activation_ring.slot(next_saved_)
                                       : tensors_.units[unit].records[static_cast<std::size_t>(m)];
        accesses.push_back(
            {Role::record, record, record_.input_bytes, kept - record_.input_bytes, Mode::write});
      }
      if (kept < record_.all_bytes) {
        accesses.push_back({Role::full_record, tensors_.full_record.value(), Bytes(0),
                            record_.all_bytes - kept, Mode::write});
      }
      accesses.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
      extend(accesses, context_accesses(m, Direction::forward));
      extend(accesses, document_accesses(micro));
    } else {
      accesses.push_back(tokens_access(micro, false));
    }
    accesses.push_back(input_access(unit + 1, m, Mode::write, Role::next_input));
    const sim::TaskId task = writer_.add_compute(
        pass_place(TaskKind::forward, LaneKind::compute, "fwd", unit, use.round, micro), pass,
        std::move(accesses), m == 0 ? waits : std::vector<sim::TaskId>{});
    if (block && choice.keep_tier == Tier::host) emit_record_save(unit, use.round, m);
    if (m + 1 == plan_.micro_batches_per_round) use_ends_.push_back(task);
  }
}

void StepEmitter::emit_loss(const UnitUse& use) {
  const sim::TaskId launch = emit_launch("loss", use.unit, use.round, Pass::loss);
  const bool tied = job_.model.tied_head;
  if (stores_gradient(plan_.units[use.unit]) && use.round > 0)
    emit_gradient_load(use.unit, use.round);
  emit_gradient_loads_ahead(use);
  for (std::int64_t m = 0; m < plan_.micro_batches_per_round; ++m) {
    const std::int64_t micro = micro_batch(use.round, m);
    const InGroup group = in_group(micro);
    std::vector<Access> accesses;
    accesses.reserve(kMostAccesses);
    accesses.push_back(weights_access(use));
    accesses.push_back(gradient_access(use.unit, group.first, group.place));
    if (tied) {
      const UnitUse& embed = uses_.front();
      accesses.push_back(weights_access(embed));
      accesses.back().role = Role::tied_weights;
      accesses.push_back(whole(Role::tied_gradient, tied_tensor(group.place),
                               group.first ? Mode::write : Mode::update));
    }
    accesses.push_back(input_access(use.unit, m, Mode::read, Role::input));
    accesses.push_back(tokens_access(micro, true));
    accesses.push_back(whole(Role::stream_gradient,
                             tensors_.stream_gradient[static_cast<std::size_t>(m)], Mode::write));
    accesses.push_back(loss_access(Role::loss_sum, micro));
    if (tensors_.balance_loss) accesses.push_back(loss_access(Role::balance_loss, micro));
    accesses.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
    const TaskPlace place{TaskKind::loss,
                          LaneKind::compute,
                          "r" + std::to_string(use.round) + "/loss/m" + std::to_string(micro),
                          use.round,
                          static_cast<int>(use.unit),
                          static_cast<int>(micro),
                          group.first};
    const sim::TaskId task =
        writer_.add_compute(place, Pass::loss, std::move(accesses), only_for_first(m, launch));
    if (tied) emit_tied_group_sums(group, use.round);
    emit_group_sums(use.unit, group, use.round);
    if (m + 1 == plan_.micro_batches_per_round) use_ends_.push_back(task);
  }
  finish_gradient(use.unit, use.round);
}

void StepEmitter::emit_gradient_load(std::size_t unit, int round) {
  free_gradient(unit);
  if (plan_.units[unit].gradients == Tier::disk) return emit_gradient_from_disk(unit, round);
  const Bytes bytes = gradient_bytes(unit);
  const TensorIndex destination = gradient_tensor(unit);
  const bool in_ring = !tensors_.units[unit].device_gradient;
  const auto copied = writer_.add_copy(
      {TaskKind::load_gradient, LaneKind::h2d,
       "r" + std::to_string(round) + "/reload/" + name(unit), round, static_cast<int>(unit)},
      {tensors_.units[unit].host_gradient.value(), Bytes(0), bytes}, {destination, Bytes(0), bytes},
      plan_.copy_chunk);
  if (in_ring) writer_.acquire(copied, *tensors_.gradient_ring.pool);
  emit_group_sums_load(unit, round);
}

/// Loads running sums ahead: while a block computes, the ring's other slots take the sums of the
/// next blocks that have any. Sums that follow weights which wait for this block's buffer are
/// behind them on the lane.
void StepEmitter::emit_gradient_loads_ahead(const UnitUse& use) {
  if (use.round == 0) return;
  if (use.unit == head()) next_sum_ = head() - 1;
  const auto slots = static_cast<std::int64_t>(tensors_.gradient_ring.slots.size());
  // Where the ring has one slot for its one block, the sum may come as soon as the slot is free.
  const std::int64_t most = plan_.gradient_buffers > 1 ? std::max<std::int64_t>(1, slots - 1) : 0;
  std::int64_t ahead = 0;
  for (std::size_t unit = next_sum_ + 1; unit < use.unit; ++unit) {
    if (stores_gradient(plan_.units[unit])) ++ahead;
  }
  for (; next_sum_ > 0; --next_sum_) {
    if (!stores_gradient(plan_.units[next_sum_])) continue;
    if (next_sum_ < use.unit && ++ahead > most) break;
    emit_gradient_load(next_sum_, use.round);
  }
}

void StepEmitter::emit_backward(const UnitUse& use) {
  const std::size_t unit = use.unit;
  const UnitPlan& choice = plan_.units[unit];
  const bool gradient_streams = streams_gradient(plan_, choice);
  const Bytes kept = record_.kept(choice.keep);
  const sim::TaskId launch = emit_launch("bwd", unit, use.round, Pass::block_backward);
  emit_gradient_loads_ahead(use);
  free_gradient(unit);
  for (std::int64_t m = 0; m < plan_.micro_batches_per_round; ++m) {
    const std::int64_t micro = micro_batch(use.round, m);
    const InGroup group = in_group(micro);
    const TensorIndex record = record_for_backward(use, m);
    std::vector<Access> read;
    read.reserve(kMostAccesses);
    read.push_back(weights_access(use));
    extend(read, form_accesses(use));
    read.push_back({Role::input, record, Bytes(0), record_.input_bytes, Mode::read});
    if (kept > record_.input_bytes) {
      read.push_back(
          {Role::record, record, record_.input_bytes, kept - record_.input_bytes, Mode::read});
    }
    if (kept < record_.all_bytes) {
      std::vector<Access> rebuild = read;
      rebuild.push_back({Role::full_record, tensors_.full_record.value(), Bytes(0),
                         record_.all_bytes - kept, Mode::write});
      rebuild.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
      extend(rebuild, document_accesses(micro));
      writer_.add_compute(
          pass_place(TaskKind::recompute, LaneKind::compute, "recompute", unit, use.round, micro),
          choice.keep == Keep::input ? Pass::block_recompute_input
                                     : Pass::block_recompute_selective,
          std::move(rebuild), only_for_first(m, launch));
      read.push_back({Role::full_record, tensors_.full_record.value(), Bytes(0),
                      record_.all_bytes - kept, Mode::read});
    }
    extend(read, context_accesses(m, Direction::backward));
    extend(read, document_accesses(micro));
    read.push_back(gradient_access(unit, group.first, group.place));
    read.push_back(whole(Role::stream_gradient,
                         tensors_.stream_gradient[static_cast<std::size_t>(m)], Mode::update));
    read.push_back(whole(Role::workspace, tensors_.workspace, Mode::write));
    TaskPlace place =
        pass_place(TaskKind::backward, LaneKind::compute, "bwd", unit, use.round, micro);
    place.first = group.first;
    const sim::TaskId task = writer_.add_compute(place, Pass::block_backward, std::move(read),
                                                 only_for_first(m, launch));
    emit_group_sums(unit, group, use.round);
    sum_ranks_of_pending(plan_.micro_batches_per_round - 1 - m);
    if (m == 0 && gradient_streams && use.round == 0) {
      writer_.acquire(task, *tensors_.gradient_ring.pool, gradient_bytes(unit));
    }
    if (m + 1 == plan_.micro_batches_per_round) use_ends_.push_back(task);
  }
  finish_gradient(unit, use.round);
}

void StepEmitter::emit_embed_backward(int round) {
  const sim::TaskId launch = emit_launch("bwd", 0, round, Pass::embed_backward);
  if (stores_gradient(plan_.units[0]) && round > 0) emit_gradient_load(0, round);
  free_gradient(0);
  for (std::int64_t m = 0; m < plan_.micro_batches_per_round; ++m) {
    const std::int64_t micro = micro_batch(round, m);
    const InGroup group = in_group(micro);
    std::vector<Access> accesses{
        tokens_access(micro, false),
        whole(Role::stream_gradient, tensors_.stream_gradient[static_cast<std::size_t>(m)],
              Mode::read),
        gradient_access(0, group.first, group.place)};
    TaskPlace place = pass_place(TaskKind::backward, LaneKind::compute, "bwd", 0, round, micro);
    place.first = group.first;
    writer_.add_compute(place, Pass::embed_backward, std::move(accesses),
                        only_for_first(m, launch));
    emit_group_sums(0, group, round);
    sum_ranks_of_pending(plan_.micro_batches_per_round - 1 - m);
  }
  finish_gradient(0, round);
}

}  // namespace sluice::planner
