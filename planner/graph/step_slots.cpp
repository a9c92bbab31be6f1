// Passes of a plan whose records go through slots: the records of a round, in forward order, use
// the slots one after another. Saved records are stored after their forward pass; the last ones
// stay. In the backward pass, last record first, each leaves its slot to the one that was written
// there before it, so that record i is in slot i mod slots in both passes.
#include <algorithm>

#include "planner/graph/step_emitter.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Pass rebuild_pass(Keep level) {
  switch (level) {
    case Keep::selective:
      return Pass::block_recompute_selective;
    case Keep::attention:
      return Pass::block_recompute_attention;
    case Keep::input_kv:
      return Pass::block_recompute_kv;
    case Keep::input:
      return Pass::block_recompute_input;
    case Keep::all:
      break;
  }
  throw std::logic_error("contract broken: a whole record is not rebuilt");
}

}  // namespace

std::vector<Access> StepEmitter::context_accesses(std::int64_t m, Direction direction) const {
  if (!tensors_.context) return {};
  const Bytes part = context_part(job_);
  const std::int64_t position = m % job_.chunks_per_sequence();
  if (direction == Direction::forward) {
    std::vector<Access> accesses{
        {Role::record, *tensors_.context, part * position, part, Mode::write}};
    if (position > 0) {
      accesses.push_back({Role::record, *tensors_.context, Bytes(0), part * position, Mode::read});
    }
    return accesses;
  }
  const Bytes seen = part * (position + 1);
  return {{Role::record, *tensors_.context, Bytes(0), seen, Mode::read},
          {Role::stream_gradient, *tensors_.context_gradient, Bytes(0), seen, Mode::update}};
}

void StepEmitter::emit_slot_forward(const UnitUse& use) {
  const std::size_t unit = use.unit;
  const sim::TaskId launch = emit_launch("fwd", unit, use.round, Pass::block_forward);
  const std::int64_t round = plan_.micro_batches_per_round;
  for (std::int64_t m = 0; m < round; ++m) {
    const std::int64_t record = (static_cast<std::int64_t>(unit) - 1) * round + m;
    const std::int64_t micro = micro_batch(use.round, m);
    const TensorIndex slot = tensors_.activation_ring.slot(record);
    std::vector<Access> accesses{weights_access(use),
                                 input_access(unit, m, Mode::read, Role::input),
                                 whole(Role::record, slot, Mode::write),
                                 whole(Role::workspace, tensors_.workspace, Mode::write),
                                 input_access(unit + 1, m, Mode::write, Role::next_input)};
    for (const Access& access : context_accesses(m, Direction::forward)) accesses.push_back(access);
    const sim::TaskId task = writer_.add_compute(
        pass_place(TaskKind::forward, LaneKind::compute, "fwd", unit, use.round, micro),
        Pass::block_forward, std::move(accesses),
        m == 0 ? std::vector{launch} : std::vector<sim::TaskId>{});
    if (m + 1 == round) use_ends_.push_back(task);
    if (record >= saved()) continue;
    const Bytes kept = record_.kept(plan_.saved_records[static_cast<std::size_t>(record)]);
    writer_.add_copy(
        pass_place(TaskKind::save_activation, LaneKind::d2h, "save", unit, use.round, micro),
        {slot, Bytes(0), kept}, {host_record(record), Bytes(0), kept}, plan_.copy_chunk);
  }
}

void StepEmitter::emit_slot_backward(const UnitUse& use) {
  const std::size_t unit = use.unit;
  const sim::TaskId launch = emit_launch("bwd", unit, use.round, Pass::block_backward);
  const std::int64_t round = plan_.micro_batches_per_round;
  emit_gradient_loads_ahead(use);
  for (std::int64_t m = round - 1; m >= 0; --m) {
    const std::int64_t record = (static_cast<std::int64_t>(unit) - 1) * round + m;
    const std::int64_t micro = micro_batch(use.round, m);
    const auto number = static_cast<std::size_t>(m);
    const bool first = use.round == 0 && m + 1 == round;
    const TensorIndex slot = tensors_.activation_ring.slot(record);
    const std::vector<sim::TaskId> after =
        m + 1 == round ? std::vector{launch} : std::vector<sim::TaskId>{};
    const Keep level =
        record < saved() ? plan_.saved_records[static_cast<std::size_t>(record)] : Keep::all;
    if (level != Keep::all) {
      const Bytes kept = record_.kept(level);
      std::vector<Access> rebuild{
          weights_access(use),
          {Role::record, slot, Bytes(0), kept, Mode::read},
          {Role::full_record, slot, kept, record_.all_bytes - kept, Mode::write},
          whole(Role::workspace, tensors_.workspace, Mode::write)};
      if (tensors_.context && level < Keep::attention) {
        rebuild.push_back(context_accesses(m, Direction::backward).front());
      }
      writer_.add_compute(
          pass_place(TaskKind::recompute, LaneKind::compute, "recompute", unit, use.round, micro),
          rebuild_pass(level), std::move(rebuild), after);
    }
    std::vector<Access> accesses{
        weights_access(use), whole(Role::full_record, slot, Mode::read),
        gradient_access(unit, first),
        whole(Role::stream_gradient, tensors_.stream_gradient[number], Mode::update),
        whole(Role::workspace, tensors_.workspace, Mode::write)};
    for (const Access& access : context_accesses(m, Direction::backward))
      accesses.push_back(access);
    TaskPlace place =
        pass_place(TaskKind::backward, LaneKind::compute, "bwd", unit, use.round, micro);
    place.first = first;
    const sim::TaskId task =
        writer_.add_compute(place, Pass::block_backward, std::move(accesses), after);
    if (first && streams_gradient(plan_, plan_.units[unit])) {
      writer_.acquire(task, *tensors_.gradient_ring.pool, gradient_bytes(unit));
    }
    if (m == 0) use_ends_.push_back(task);
    emit_slot_fetch(record - plan_.activation_buffers, use.round);
    emit_context_load(record - round, use.round);
  }
  emit_gradient_finish(unit, use.round);
}

void StepEmitter::emit_slot_fetch(std::int64_t record, int round) {
  if (record < 0 || record >= saved()) return;
  const std::int64_t in_round = plan_.micro_batches_per_round;
  const auto unit = static_cast<std::size_t>(1 + record / in_round);
  const std::int64_t micro = micro_batch(round, record % in_round);
  const Bytes kept = record_.kept(plan_.saved_records[static_cast<std::size_t>(record)]);
  writer_.add_copy(
      pass_place(TaskKind::load_activation, LaneKind::h2d, "fetch", unit, round, micro),
      {host_record(record), Bytes(0), kept},
      {tensors_.activation_ring.slot(record), Bytes(0), kept}, plan_.copy_chunk);
}

void StepEmitter::emit_context_load(std::int64_t record, int round) {
  // Earlier chunks' k and v are needed before their own records come. What stayed is copied within
  // the device, in no time that matters.
  if (!tensors_.context || record < 0 || record >= saved()) return;
  const std::int64_t in_round = plan_.micro_batches_per_round;
  const auto unit = static_cast<std::size_t>(1 + record / in_round);
  const std::int64_t position = record % in_round % job_.chunks_per_sequence();
  if (position + 1 == job_.chunks_per_sequence()) return;  // Its own record brings the last ones.
  const Bytes part = context_part(job_);
  TaskPlace place = pass_place(TaskKind::load_activation, LaneKind::h2d, "context", unit, round,
                               micro_batch(round, record % in_round));
  place.micro_batch = 0;
  writer_.add_copy(place, {host_record(record), record_.input_bytes, part},
                   {*tensors_.context, part * position, part}, plan_.copy_chunk);
}

}  // namespace sluice::planner
