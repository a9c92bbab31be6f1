// Updates of units whose state lives on the disk: piece after piece is read into a host buffer,
// updated there and written back. Reads wait for a free buffer and not for the norm, so that they
// run ahead under the passes; writes follow behind. Gradients that wait there, too, go through the
// same buffers, and come back to the device where a later round adds to them.
#include "planner/step_emitter.hpp"

namespace sluice::planner {

StepEmitter::WaitingPiece StepEmitter::waiting_piece(std::size_t unit, std::size_t piece,
                                                     int round) const {
  const DiskPiece& at = writer_.graph().disk[unit][piece];
  const Bytes element = last_round(round) ? job_.gradient_wire_element() : job_.gradient_element();
  const Bytes bytes = aligned_plane(at.count, element);
  // Of the last round they come back with the state, under the next step's round 0.
  const std::string id =
      (last_round(round) ? "" : "r" + std::to_string(round) + "/") + "gradient/" + name(unit);
  return {id,
          element,
          {*tensors_.units[unit].disk_gradient, at.gradient_offset, bytes},
          {disk_buffer(unit, piece), at.gradient(), bytes}};
}

void StepEmitter::emit_gradient_to_disk(std::size_t unit, int round) {
  const std::vector<DiskPiece>& pieces = writer_.graph().disk[unit];
  const bool in_ring = !tensors_.units[unit].device_gradient;
  Bytes left = gradient_bytes(unit);
  // From the last piece on, for units come in that order: so the buffers take turns.
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const DiskPiece& piece = pieces[i];
    const std::string number = "/p" + std::to_string(i);
    const WaitingPiece waiting = waiting_piece(unit, i, round);
    const Bytes bytes = waiting.element * piece.count;
    const auto stored =
        writer_.add_copy({TaskKind::store_gradient, LaneKind::d2h,
                          "r" + std::to_string(round) + "/store/" + name(unit) + number, round,
                          static_cast<int>(unit)},
                         {gradient_tensor(unit), waiting.element * piece.first, bytes},
                         {waiting.buffer.tensor, piece.gradient(), bytes}, plan_.copy_chunk);
    left -= bytes;
    // On a wire of fewer bytes the last one gives the rest of the buffer back.
    if (in_ring) {
      writer_.release(stored, *tensors_.gradient_ring.pool, i == 0 ? left : Bytes(0));
    }
    writer_.add_copy({TaskKind::write_gradient, LaneKind::disk_write,
                      waiting.id + "/write" + number, round, static_cast<int>(unit)},
                     waiting.buffer, waiting.home, Bytes(0));
  }
}

void StepEmitter::emit_gradient_from_disk(std::size_t unit, int round) {
  const std::vector<DiskPiece>& pieces = writer_.graph().disk[unit];
  const bool in_ring = !tensors_.units[unit].device_gradient;
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const DiskPiece& piece = pieces[i];
    const std::string number = "/p" + std::to_string(i);
    const WaitingPiece waiting = waiting_piece(unit, i, round - 1);
    const Bytes bytes = waiting.element * piece.count;
    writer_.add_copy({TaskKind::read_gradient, LaneKind::disk_read, waiting.id + "/read" + number,
                      round, static_cast<int>(unit)},
                     waiting.home, waiting.buffer, Bytes(0));
    const auto copied = writer_.add_copy(
        {TaskKind::load_gradient, LaneKind::h2d,
         "r" + std::to_string(round) + "/reload/" + name(unit) + number, round,
         static_cast<int>(unit)},
        {waiting.buffer.tensor, piece.gradient(), bytes},
        {gradient_tensor(unit), waiting.element * piece.first, bytes}, plan_.copy_chunk);
    if (in_ring) writer_.acquire(copied, *tensors_.gradient_ring.pool);
  }
}

void StepEmitter::emit_disk_update(std::size_t unit, std::optional<TensorIndex> gradient,
                                   const std::vector<sim::TaskId>& after) {
  const UnitTensorSet& set = tensors_.units[unit];
  const std::int64_t wire = job_.gradient_wire_element().count();
  const bool low_on_disk = job_.weight_element() < job_.master_bytes(1);
  const int round = static_cast<int>(plan_.rounds) - 1;
  const std::string state = "state/" + name(unit) + "/";
  const std::vector<DiskPiece>& pieces = writer_.graph().disk[unit];
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const DiskPiece& piece = pieces[i];
    const std::string number = "/p" + std::to_string(i);
    const TensorIndex slot = disk_buffer(unit, i);
    const Range home{set.disk_state.value(), piece.offset, piece.bytes};
    const Range buffer{slot, Bytes(0), piece.bytes};
    writer_.add_copy({TaskKind::read_state, LaneKind::disk_read, state + "read" + number, round,
                      static_cast<int>(unit)},
                     home, buffer, Bytes(0));
    if (!gradient) {
      const WaitingPiece waiting = waiting_piece(unit, i, round);
      writer_.add_copy({TaskKind::read_gradient, LaneKind::disk_read, waiting.id + "/read" + number,
                        round, static_cast<int>(unit)},
                       waiting.home, waiting.buffer, Bytes(0));
    }
    const auto of_master = [&](Role role, Bytes from) {
      return Access{role, set.master.value(), from + Bytes(2 * piece.first), Bytes(2 * piece.count),
                    Mode::update};
    };
    const auto of_slot = [&](Role role, Bytes from, std::int64_t element) {
      return Access{role, slot, from, Bytes(element * piece.count), Mode::update};
    };
    std::vector<Access> accesses{of_master(Role::weights, Bytes(0)),
                                 low_on_disk ? of_slot(Role::low, Bytes(0), 2)
                                             : of_master(Role::low, Bytes(2 * set.parameters)),
                                 of_slot(Role::moment1, piece.moment1, 4),
                                 of_slot(Role::moment2, piece.moment2, 4),
                                 {Role::gradient, gradient.value_or(slot),
                                  gradient ? Bytes(wire * piece.first) : piece.gradient(),
                                  Bytes(wire * piece.count), Mode::read}};
    TaskPlace place{TaskKind::update, LaneKind::cpu, "update/" + name(unit) + number, round,
                    static_cast<int>(unit)};
    place.first_parameter = piece.first;
    const sim::TaskId task =
        writer_.add_update(place, piece.count, plan_.threads, std::move(accesses), after);
    writer_.add_copy({TaskKind::write_state, LaneKind::disk_write, state + "write" + number, round,
                      static_cast<int>(unit)},
                     buffer, home, Bytes(0));
    if (plan_.units[unit].when == When::after && i + 1 == pieces.size()) {
      barrier_updates_.push_back(task);
    }
  }
}

}  // namespace sluice::planner
