// Activation records that wait on the host between a block's forward and backward pass.
#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {

void StepEmitter::emit_record_save(std::size_t unit, int round, std::int64_t m) {
  const auto number = static_cast<std::size_t>(m);
  const TensorIndex saved = tensors_.units[unit].host_records[number];
  const Bytes kept = record_.kept(plan_.units[unit].keep);
  const std::int64_t micro = micro_batch(round, m);
  const TaskPlace place =
      pass_place(TaskKind::save_activation, LaneKind::d2h, "save", unit, round, micro);
  const Bytes x = record_.input_bytes;
  const auto first = writer_.add_copy(place, {stream(unit, number), Bytes(0), x},
                                      {saved, Bytes(0), x}, plan_.copy_chunk);
  if (kept > x) {
    writer_.add_copy(place, {tensors_.activation_ring.slot(next_saved_), x, kept - x},
                     {saved, x, kept - x}, plan_.copy_chunk, {}, first.chunks);
  }
  ++next_saved_;
}

void StepEmitter::emit_record_load(std::size_t item, int round) {
  const auto [unit, number] = offloaded_[item];
  const Bytes kept = record_.kept(plan_.units[unit].keep);
  const std::int64_t micro = micro_batch(round, static_cast<std::int64_t>(number));
  writer_.add_copy(
      pass_place(TaskKind::load_activation, LaneKind::h2d, "fetch", unit, round, micro),
      {tensors_.units[unit].host_records[number], Bytes(0), kept},
      {tensors_.activation_ring.slot(static_cast<std::int64_t>(item)), Bytes(0), kept},
      plan_.copy_chunk);
}

TensorIndex StepEmitter::record_for_backward(const UnitUse& use, std::int64_t m) {
  const auto number = static_cast<std::size_t>(m);
  if (plan_.units[use.unit].keep_tier != Tier::host)
    return tensors_.units[use.unit].records[number];
  // Items are in the order of the backward pass; this one was fetched, and the next may come.
  const std::size_t item = first_item_[use.unit] + number;
  while (next_item_ < offloaded_.size() &&
         next_item_ < item + static_cast<std::size_t>(plan_.activation_buffers)) {
    emit_record_load(next_item_++, use.round);
  }
  return tensors_.activation_ring.slot(static_cast<std::int64_t>(item));
}

}  // namespace sluice::planner
