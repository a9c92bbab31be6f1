// What ranks do together: the slices of weights that are gathered before passes, and the sums of
// gradients that are exchanged and added up after the last micro-batch of a rank. Collectives only
// move bytes; a rank adds all ranks' sums of its own slice along the tree of the ranks. On several
// hosts that is made in two: a rank adds its host's sums of the slices that ranks with its place
// have on every host, and then, of its own slice, the sums of all hosts. Both are parts of the
// tree.
//
// The sums of a unit are emitted between the passes of the next unit, so that the compute lane does
// not wait for the exchange.
#include <algorithm>

#include "planner/costs/cost_key.hpp"
#include "planner/graph/step_emitter.hpp"
#include "planner/graph/step_sums.hpp"
#include "planner/models/slices.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Elements of a piece of a slice that one exchange brings: whole norm blocks.
std::int64_t piece_elements(const Job& job, const Plan& plan) {
  return plan.exchange_piece.count() / (job.gradient_element().count() * kNormBlock) * kNormBlock;
}

const char* suffix_of(Among among) {
  if (among == Among::all) return "";
  return among == Among::host ? "/inside" : "/between";
}

}  // namespace

void StepTensors::add_receive_ring(GraphWriter& writer, const Job& job, const Plan& plan) {
  const std::int64_t most = piece_elements(job, plan);
  const std::int64_t exchanges_of_a_piece = sums_in_two(plan) ? 2 : 1;
  std::int64_t largest = 0, pieces = 0;
  const auto count = [&](std::int64_t slice) {
    largest = std::max(largest, std::min(slice, most));
    pieces += (slice + most - 1) / most * exchanges_of_a_piece;
  };
  for (const UnitTensorSet& set : units) count(set.slice);
  if (tied_gradient) count(units.front().slice);
  const Bytes bytes = job.gradient_element() * (largest * received_pieces(plan));
  for (std::int64_t i = 0; i < std::min(plan.receive_buffers, pieces); ++i) {
    receive_ring.slots.push_back(writer.add_tensor(
        {Arena::device, "receive_buffer." + std::to_string(i), bytes, "gradients"}));
  }
}

Range StepEmitter::weights_slice(std::size_t unit, TensorIndex weights, std::int64_t plane) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const Bytes half(2 * set.slice);
  return {weights, Bytes(2 * set.parameters) * plane, half, plan_.ranks == 1 ? Bytes(0) : half};
}

Range StepEmitter::resident_plane(std::size_t unit, std::int64_t plane) const {
  const UnitTensorSet& set = tensors_.units[unit];
  const Bytes half(2 * set.slice);
  if (set.resident_slice) return {*set.resident_slice, half * plane, half};
  if (plane == 1 && set.device_low) return {*set.device_low, Bytes(0), half};
  return weights_slice(unit, set.device_weights.value(), plane);
}

Access StepEmitter::gradient_slice(Role role, std::size_t unit, TensorIndex tensor,
                                   Mode mode) const {
  const Bytes bytes = job_.gradient_element() * tensors_.units[unit].slice;
  return {role, tensor, Bytes(0), bytes, mode, plan_.ranks == 1 ? Bytes(0) : bytes};
}

Access StepEmitter::summed_gradient(std::size_t unit, Mode mode) const {
  if (const auto& own = tensors_.units[unit].waiting_slice) {
    return whole(Role::gradient, *own, mode);
  }
  return gradient_slice(Role::gradient, unit, gradient_tensor(unit), mode);
}

GraphWriter::CopyTasks StepEmitter::emit_slice_load(const UnitUse& use, TensorIndex destination,
                                                    const std::vector<sim::TaskId>& after) {
  const UnitTensorSet& set = tensors_.units[use.unit];
  GraphWriter::CopyTasks all{sim::TaskId{}, sim::TaskId{}, 0};
  for (std::int64_t plane = 0; plane < weight_planes(); ++plane) {
    const Bytes half(2 * set.slice);
    const auto copied = writer_.add_copy({TaskKind::load_weights, LaneKind::h2d, load_id(use),
                                          use.round, static_cast<int>(use.unit)},
                                         {set.master.value(), half * plane, half},
                                         weights_slice(use.unit, destination, plane),
                                         plan_.copy_chunk, after, all.chunks);
    if (plane == 0) all.first = copied.first;
    all.last = copied.last;
    all.chunks += copied.chunks;
  }
  return all;
}

sim::TaskId StepEmitter::emit_gather(const TaskPlace& place, TensorIndex weights,
                                     const std::vector<sim::TaskId>& after) {
  const auto unit = static_cast<std::size_t>(place.unit);
  std::vector<Access> accesses;
  Bytes received{0};
  for (std::int64_t plane = 0; plane < weight_planes(); ++plane) {
    const Range own = weights_slice(unit, weights, plane);
    accesses.push_back(
        {Role::weights, own.tensor, own.offset, own.bytes, Mode::update, own.rank_stride});
    received += own.bytes * (plan_.ranks - 1);
    if (!tensors_.units[unit].resident_slice) continue;
    const Range home = resident_plane(unit, plane);
    accesses.back().mode = Mode::write;
    accesses.push_back({Role::source, home.tensor, home.offset, home.bytes, Mode::read});
  }
  return writer_.add_collective(place, Collective::gather, received, std::move(accesses), after);
}

void StepEmitter::emit_load_of_ranks(const UnitUse& use, TensorIndex destination,
                                     const std::vector<sim::TaskId>& after) {
  const bool resident = tensors_.units[use.unit].resident_slice.has_value();
  const bool on_disk = tensors_.units[use.unit].disk_weights.has_value();
  std::optional<GraphWriter::CopyTasks> copied;
  if (on_disk) {
    emit_weights_from_disk(use, destination, after);
  } else if (!resident) {
    copied = emit_slice_load(use, destination, after);
  }
  TaskPlace place{
      TaskKind::gather_weights, LaneKind::fabric, {}, use.round, static_cast<int>(use.unit)};
  if (writer_.names_tasks()) place.id = "gather/" + load_id(use);
  const sim::TaskId gathered =
      emit_gather(place, destination, resident ? after : std::vector<sim::TaskId>{});
  if (!use.slot) return;
  const sim::PoolId pool = tensors_.weight_ring.pool.value();
  const Bytes received = writer_.graph().tasks[sim::index(gathered)].bytes;
  const Bytes all = job_.weight_element() * tensors_.units[use.unit].parameters;
  if (copied) writer_.acquire(*copied, pool);
  writer_.acquire(gathered, pool, copied || on_disk ? received : all);
}

void StepEmitter::emit_gather_of_updated(std::size_t unit) {
  const UnitPlan& choice = plan_.units[unit];
  if (plan_.ranks == 1 || passes_weights(choice)) return;
  emit_gather({TaskKind::gather_weights, LaneKind::fabric, "gather/update/" + name(unit),
               static_cast<int>(plan_.rounds) - 1, static_cast<int>(unit)},
              tensors_.units[unit].device_weights.value(), {});
}

void StepEmitter::finish_gradient(std::size_t unit, int round) {
  if (plan_.ranks == 1 || !last_round(round)) return emit_gradient_finish(unit, round);
  sum_ranks_of_pending(0);
  pending_.emplace(PendingSums{.unit = unit, .pieces = {}, .first_slot = next_received_});
  const std::int64_t most = piece_elements(job_, plan_);
  const auto add = [&](Role role, std::size_t owner, TensorIndex tensor) {
    const std::int64_t slice = tensors_.units[owner].slice;
    for (std::int64_t first = 0; first < slice; first += most) {
      pending_->pieces.push_back(
          {role, owner, tensor, first, std::min(most, slice - first), Among::all});
    }
  };
  if (unit == head() && job_.model.tied_head) add(Role::tied_gradient, 0, *tensors_.tied_gradient);
  add(Role::gradient, unit, gradient_tensor(unit));
  if (sums_in_two(plan_)) pending_->pieces = in_two(pending_->pieces);
  emit_exchanges();
  // The embedding's gradient is the last, so there are no passes to hide its sums under.
  if (unit == 0) sum_ranks_of_pending(0);
}

/// The exchanges of `pieces` inside hosts and between them, in an order in which that inside hosts
/// of the following piece goes before that between them of a piece, so that it hides the sum that
/// the latter waits for.
std::vector<StepEmitter::RankPiece> StepEmitter::in_two(const std::vector<RankPiece>& pieces) {
  std::vector<RankPiece> all;
  for (std::size_t i = 0; i <= pieces.size(); ++i) {
    if (i < pieces.size()) {
      all.push_back(pieces[i]);
      all.back().among = Among::host;
    }
    if (i == 0) continue;
    all.push_back(pieces[i - 1]);
    all.back().among = Among::hosts;
  }
  return all;
}

/// Whether the piece's exchange may be emitted: one between hosts is of sums inside them.
bool StepEmitter::may_exchange(std::size_t number) const {
  const std::vector<RankPiece>& pieces = pending_->pieces;
  if (pieces[number].among != Among::hosts) return true;
  for (std::size_t i = pending_->summed; i < number; ++i) {
    const RankPiece& each = pieces[i];
    if (each.among == Among::host && each.tensor == pieces[number].tensor &&
        each.first == pieces[number].first) {
      return false;
    }
  }
  return true;
}

/// Emits the exchanges of the next pieces as far as receive buffers are free.
void StepEmitter::emit_exchanges() {
  const auto slots = tensors_.receive_ring.slots.size();
  PendingSums& pending = *pending_;
  while (pending.exchanged < pending.pieces.size() && pending.exchanged < pending.summed + slots &&
         may_exchange(pending.exchanged)) {
    const RankPiece& piece = pending.pieces[pending.exchanged];
    std::vector<Access> accesses = piece_accesses(piece, pending.first_slot + pending.exchanged);
    for (Access& each : accesses) each.mode = Mode::read;
    accesses.back().mode = Mode::write;
    const Bytes received = accesses.back().bytes;
    writer_.add_collective(
        piece_place(TaskKind::exchange_gradients, LaneKind::fabric, "exchange", pending.exchanged),
        exchange_among(piece.among), received, std::move(accesses));
    ++pending.exchanged;
  }
}

void StepEmitter::sum_ranks_of_pending(std::int64_t passes_left) {
  if (!pending_) return;
  PendingSums& pending = *pending_;
  const auto pieces_left = static_cast<std::int64_t>(pending.pieces.size() - pending.summed);
  const std::int64_t now = (pieces_left + passes_left) / (passes_left + 1);
  for (std::int64_t i = 0; i < now; ++i) {
    const RankPiece& piece = pending.pieces[pending.summed];
    std::vector<Access> accesses = piece_accesses(piece, pending.first_slot + pending.summed);
    const UnitTensorSet& set = tensors_.units[piece.owner];
    const bool apart =
        piece.role == Role::gradient && set.waiting_slice && piece.among != Among::host;
    if (apart) {
      Access& own = accesses.front();
      own.mode = Mode::read;
      accesses.push_back(
          {Role::destination, *set.waiting_slice, own.offset, own.bytes, Mode::write});
    }
    const std::int64_t ranks = ranks_among(piece.among);
    const std::int64_t elements = piece.elements * slices_among(piece.among);
    const sim::TaskId task = writer_.add_work(
        piece_place(TaskKind::sum_ranks, LaneKind::compute, "sum/ranks", pending.summed),
        slice_key(job_, Pass::sum_ranks, ranks, elements),
        slice_work(job_, Pass::sum_ranks, ranks, elements), std::move(accesses));
    ++pending.summed;
    if (apart && !set.device_gradient && pending.summed == pending.pieces.size()) {
      writer_.release(task, *tensors_.gradient_ring.pool, gradient_bytes(piece.owner));
    }
    emit_exchanges();
  }
  if (pending.summed < pending.pieces.size()) return;
  const std::size_t unit = pending.unit;
  next_received_ = pending.first_slot + pending.pieces.size();
  pending_.reset();
  emit_gradient_finish(unit, static_cast<int>(plan_.rounds) - 1);
}

void StepEmitter::free_gradient(std::size_t unit) {
  if (pending_ && gradient_tensor(pending_->unit) == gradient_tensor(unit)) {
    sum_ranks_of_pending(0);
  }
}

std::int64_t StepEmitter::ranks_among(Among among) const {
  if (among == Among::all) return plan_.ranks;
  return among == Among::host ? plan_.ranks / plan_.hosts : plan_.hosts;
}

std::int64_t StepEmitter::slices_among(Among among) const {
  return among == Among::host ? plan_.hosts : 1;
}

std::vector<Access> StepEmitter::piece_accesses(const RankPiece& piece, std::size_t slot) const {
  Access own = gradient_slice(piece.role, piece.owner, piece.tensor, Mode::update);
  own.offset = job_.gradient_element() * piece.first;
  own.bytes = job_.gradient_element() * piece.elements;
  own.among = piece.among == Among::host ? Among::host : Among::all;
  const std::int64_t slices = slices_among(piece.among);
  std::vector<Access> accesses(static_cast<std::size_t>(slices), own);
  for (std::size_t host = 1; host < accesses.size(); ++host) {
    accesses[host].offset = accesses[host - 1].offset + own.rank_stride * ranks_among(piece.among);
  }
  const TensorIndex buffer = tensors_.receive_ring.slot(static_cast<std::int64_t>(slot));
  const Bytes received = own.bytes * ((ranks_among(piece.among) - 1) * slices);
  accesses.push_back({Role::received, buffer, Bytes(0), received, Mode::read});
  return accesses;
}

TaskPlace StepEmitter::piece_place(TaskKind kind, LaneKind lane, const char* what,
                                   std::size_t number) const {
  const RankPiece& piece = pending_->pieces[number];
  TaskPlace place{
      kind, lane, {}, static_cast<int>(plan_.rounds) - 1, static_cast<int>(piece.owner)};
  place.among = piece.among;
  if (writer_.names_tasks()) {
    const bool tied = piece.role == Role::tied_gradient;
    place.id = std::string(what) + suffix_of(piece.among) + "/" +
               (tied ? "tied" : name(piece.owner)) + "/p" + std::to_string(number);
  }
  return place;
}

Access StepEmitter::loss_access(Role role, std::int64_t micro) const {
  const Bytes one(8);
  if (plan_.ranks == 1) {
    const TensorIndex tensor =
        role == Role::loss_sum ? tensors_.loss_sum : tensors_.balance_loss.value();
    return {role, tensor, one * micro, one, Mode::write};
  }
  const StepSums::Part& part = role == Role::loss_sum ? sums_.losses : sums_.balance_losses;
  return {role, tensors_.norm_blocks, part.offset + one * micro, one, Mode::write, sums_.run};
}

void StepEmitter::emit_sums_of_ranks() {
  const int round = static_cast<int>(plan_.rounds) - 1;
  writer_.add_collective(
      {TaskKind::gather_norms, LaneKind::fabric, "gather/norms", round}, Collective::gather,
      sums_.run * (plan_.ranks - 1),
      {{Role::norm_blocks, tensors_.norm_blocks, Bytes(0), sums_.run, Mode::update, sums_.run}});
  std::vector<Access> accesses{whole(Role::norm_blocks, tensors_.norm_blocks, Mode::read),
                               whole(Role::norm_sum, tensors_.norm_sums, Mode::write),
                               whole(Role::loss_sum, tensors_.loss_sum, Mode::write)};
  if (tensors_.balance_loss) {
    accesses.push_back(whole(Role::balance_loss, *tensors_.balance_loss, Mode::write));
  }
  const std::int64_t doubles = sums_.run.count() / 8 * plan_.ranks;
  writer_.add_work({TaskKind::sum_norms, LaneKind::compute, "sum/norms", round},
                   slice_key(job_, Pass::sum_norms, plan_.ranks, doubles),
                   slice_work(job_, Pass::sum_norms, plan_.ranks, doubles), std::move(accesses));
}

}  // namespace sluice::planner
