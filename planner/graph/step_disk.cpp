// Updates of units whose state lives on the disk: piece after piece is read into a host buffer,
// updated there and written back. Reads wait for a free buffer and not for the norm, so they run
// ahead under the passes; writes follow behind. Gradients that wait on the disk go through the same
// buffers, and come back to the device where a later round adds to them. Weights on the disk come
// through buffers of their own for each pass, and with the state for their update.
#include "planner/graph/step_emitter.hpp"

namespace sluice::planner {

void StepEmitter::emit_weights_from_disk(const UnitUse& use, TensorIndex destination,
                                         const std::vector<sim::TaskId>& after) {
  const UnitTensorSet& set = tensors_.units[use.unit];
  const std::vector<DiskPiece>& pieces = writer_.graph().disk[use.unit];
  const std::string pass = use.direction == Direction::forward ? "/fwd" : "/bwd";
  const auto unit = static_cast<int>(use.unit);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const DiskPiece& piece = pieces[i];
    const std::string number = "/p" + std::to_string(i);
    const TensorIndex slot = tensors_.disk_weight_ring.slot(next_disk_weights_++);
    writer_.add_copy(
        {TaskKind::read_weights, LaneKind::disk_read,
         "r" + std::to_string(use.round) + "/weights/" + name(use.unit) + pass + number, use.round,
         unit},
        {*set.disk_weights, piece.weights_offset, piece.weights_bytes},
        {slot, Bytes(0), piece.weights_bytes}, Bytes(0));
    const Bytes half(2 * piece.count), at(2 * piece.first);
    const auto load = [&](const std::string& plane, Bytes from, std::int64_t number_of_plane) {
      const Range own = weights_slice(use.unit, destination, number_of_plane);
      const auto copied = writer_.add_copy(
          {TaskKind::load_weights, LaneKind::h2d, load_id(use) + number + plane, use.round, unit},
          {slot, from, half}, {destination, own.offset + at, half, own.rank_stride},
          plan_.copy_chunk, after);
      if (use.slot) writer_.acquire(copied, tensors_.weight_ring.pool.value());
    };
    const bool both = piece.weights_low > Bytes(0);
    load(both ? "/high" : "", Bytes(0), 0);
    if (both) load("/low", piece.weights_low, 1);
  }
}

StepEmitter::WaitingPiece StepEmitter::waiting_piece(std::size_t unit, std::size_t piece,
                                                     int round) const {
  const DiskPiece& at = writer_.graph().disk[unit][piece];
  const Bytes element = last_round(round) ? job_.gradient_wire_element() : job_.gradient_element();
  const Bytes bytes = aligned_plane(at.count, element);
  // Gradients of the last round come back with the state, under the next step's round 0.
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
  const Range own = plan_.ranks == 1 ? Range{gradient_tensor(unit)} : wire_gradient(unit);
  Bytes left = gradient_bytes(unit);
  // From the last piece on, since units come in that order and so the buffers rotate.
  for (std::size_t i = pieces.size(); i-- > 0;) {
    const DiskPiece& piece = pieces[i];
    const std::string number = "/p" + std::to_string(i);
    const WaitingPiece waiting = waiting_piece(unit, i, round);
    const Bytes bytes = waiting.element * piece.count;
    const auto stored = writer_.add_copy(
        {TaskKind::store_gradient, LaneKind::d2h,
         "r" + std::to_string(round) + "/store/" + name(unit) + number, round,
         static_cast<int>(unit)},
        {own.tensor, own.offset + waiting.element * piece.first, bytes, own.rank_stride},
        {waiting.buffer.tensor, piece.gradient(), bytes}, plan_.copy_chunk);
    left -= bytes;
    // On a wire of fewer bytes, or with other ranks' slices, the last piece releases the rest.
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

std::vector<StepEmitter::PieceMove> StepEmitter::piece_moves(std::size_t unit,
                                                             std::size_t piece) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const DiskPiece& at = writer_.graph().disk[unit][piece];
  const TensorIndex slot = disk_buffer(unit, piece);
  std::vector<PieceMove> moves{{TaskKind::read_state,
                                TaskKind::write_state,
                                "state/" + name(unit),
                                {set.disk_state.value(), at.offset, at.bytes},
                                {slot, Bytes(0), at.bytes}}};
  if (set.disk_weights) {
    moves.push_back({TaskKind::read_weights,
                     TaskKind::write_weights,
                     "weights/" + name(unit),
                     {*set.disk_weights, at.weights_offset, at.weights_bytes},
                     {slot, at.weights(), at.weights_bytes}});
  }
  return moves;
}

std::vector<Access> StepEmitter::piece_operands(std::size_t unit, std::size_t piece) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const DiskPiece& at = writer_.graph().disk[unit][piece];
  const TensorIndex slot = disk_buffer(unit, piece);
  const Bytes half(2 * at.count), moment = job_.moment_bytes(at.count), begin(2 * at.first);
  const auto in_slot = [&](Role role, Bytes from, Bytes bytes) {
    return Access{role, slot, from, bytes, Mode::update};
  };
  // High halves, or the low halves that fp32 compute keeps with the weights.
  const auto of_weights = [&](Role role, std::int64_t plane, Bytes from_in_slot) {
    if (set.disk_weights) return in_slot(role, at.weights() + from_in_slot, half);
    const Range home = host_plane(unit, plane);
    return Access{role, home.tensor, home.offset + begin, half, Mode::update, home.rank_stride};
  };
  const bool low_in_state = job_.weight_element() < job_.master_bytes(1);
  return {
      of_weights(Role::weights, 0, Bytes(0)),
      low_in_state ? in_slot(Role::low, Bytes(0), half) : of_weights(Role::low, 1, at.weights_low),
      in_slot(Role::moment1, at.moment1, moment), in_slot(Role::moment2, at.moment2, moment)};
}

void StepEmitter::emit_disk_update(std::size_t unit, std::optional<TensorIndex> gradient,
                                   const std::vector<sim::TaskId>& after) {
  const Bytes wire = job_.gradient_wire_element();
  const int round = static_cast<int>(plan_.rounds) - 1;
  const std::vector<DiskPiece>& pieces = writer_.graph().disk[unit];
  const auto place = [&](TaskKind kind, LaneKind lane, const std::string& id) {
    return TaskPlace{kind, lane, id, round, static_cast<int>(unit)};
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const DiskPiece& piece = pieces[i];
    const std::string number = "/p" + std::to_string(i);
    const std::vector<PieceMove> moves = piece_moves(unit, i);
    for (const PieceMove& move : moves) {
      writer_.add_copy(place(move.read, LaneKind::disk_read, move.id + "/read" + number), move.home,
                       move.buffer, Bytes(0));
    }
    if (!gradient) {
      const WaitingPiece waiting = waiting_piece(unit, i, round);
      writer_.add_copy(
          place(TaskKind::read_gradient, LaneKind::disk_read, waiting.id + "/read" + number),
          waiting.home, waiting.buffer, Bytes(0));
    }
    std::vector<Access> accesses = piece_operands(unit, i);
    accesses.push_back({Role::gradient, gradient.value_or(disk_buffer(unit, i)),
                        gradient ? wire * piece.first : piece.gradient(), wire * piece.count,
                        Mode::read});
    TaskPlace update = place(TaskKind::update, LaneKind::cpu, "update/" + name(unit) + number);
    update.first_parameter = piece.first;
    const sim::TaskId task =
        writer_.add_update(update, piece.count, plan_.threads, std::move(accesses), after);
    for (const PieceMove& move : moves) {
      writer_.add_copy(place(move.write, LaneKind::disk_write, move.id + "/write" + number),
                       move.buffer, move.home, Bytes(0));
    }
    if (plan_.units[unit].when == When::after && i + 1 == pieces.size()) {
      barrier_updates_.push_back(task);
    }
  }
}

}  // namespace sluice::planner
