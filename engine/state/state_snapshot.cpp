#include "engine/state/state_snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "engine/optimizer/master_weights.hpp"
#include "planner/effort/parallel_for.hpp"

namespace sluice::engine {
namespace {

/// A plane of a unit, or a piece of one, to copy.
struct PlaneCopy {
  std::size_t unit;
  Plane plane;
  std::size_t offset;
  std::byte* to;
  std::size_t bytes;
};

constexpr std::size_t kPlanePiece = std::size_t{8} << 20;

void cut_into(std::vector<PlaneCopy>& pieces, const PlaneCopy& plane) {
  for (std::size_t at = 0; at < plane.bytes; at += kPlanePiece) {
    pieces.push_back(
        {plane.unit, plane.plane, at, plane.to + at, std::min(kPlanePiece, plane.bytes - at)});
  }
}

}  // namespace

Bytes StateSnapshot::size_of(const planner::ModelShape& shape) {
  std::int64_t bytes = 0;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    bytes += 12 * planner::unit_padded_size(shape, unit);
  }
  return Bytes(bytes);
}

StateSnapshot::StateSnapshot(const planner::ModelShape& shape, const TrainingState& state,
                             Keeps keeps)
    : shape_(shape),
      memory_(keeps == Keeps::all ? state.memory_to_read_into(size_of(shape)) : nullptr) {
  std::byte* next = memory_.get();
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    const std::int64_t padded = planner::unit_padded_size(shape, unit);
    UnitState& unit_state = units_.emplace_back();
    padded_.push_back(padded);
    if (next == nullptr) continue;
    unit_state.high = next;
    unit_state.low = unit_state.high + 2 * padded;
    unit_state.m = unit_state.low + 2 * padded;
    unit_state.v = unit_state.m + 4 * padded;
    next = unit_state.v + 4 * padded;
  }
}

void StateSnapshot::take(const TrainingState& state) {
  std::vector<PlaneCopy> pieces;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const auto elements = static_cast<std::size_t>(padded_[unit]);
    const UnitState& to = units_[unit];
    cut_into(pieces, {unit, Plane::high, 0, to.high, 2 * elements});
    cut_into(pieces, {unit, Plane::low, 0, to.low, 2 * elements});
    cut_into(pieces, {unit, Plane::m, 0, to.m, 4 * elements});
    cut_into(pieces, {unit, Plane::v, 0, to.v, 4 * elements});
  }
  planner::parallel_for(pieces.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    const PlaneCopy& piece = pieces[i];
    state.read_plane(piece.unit, piece.plane, static_cast<std::int64_t>(piece.offset),
                     {piece.to, piece.bytes});
  });
}

void StateSnapshot::take(const TrainingState& state, const RankLinks& links) {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const Plane plane : kPlanes) gather_plane(state, unit, plane, links);
  }
}

void StateSnapshot::gather_plane(const TrainingState& state, std::size_t unit, Plane plane,
                                 const RankLinks& links) {
  const auto [rank, ranks] = links.world();
  const auto element = static_cast<std::size_t>(element_bytes(plane));
  const std::size_t slice = element * static_cast<std::size_t>(state.slice(unit));
  const std::size_t end = element * static_cast<std::size_t>(padded_[unit]);
  std::vector<std::byte> runs(std::min(kPlanePiece, slice) * static_cast<std::size_t>(ranks));
  for (std::size_t at = 0; at < slice; at += kPlanePiece) {
    const std::size_t bytes = std::min(kPlanePiece, slice - at);
    const RankRuns pieces{runs.data(), bytes, bytes};
    const auto begin_of = [&](int each) { return static_cast<std::size_t>(each) * slice + at; };
    state.read_plane(unit, plane, static_cast<std::int64_t>(begin_of(rank)), pieces.of(rank));
    links.fabric->all_gather(pieces);
    if (memory_ == nullptr) continue;
    for (int each = 0; each < ranks; ++each) {
      const std::size_t begin = begin_of(each);
      if (begin >= end) break;
      std::memcpy(address(unit, plane) + begin, pieces.of(each).data(),
                  std::min(bytes, end - begin));
    }
  }
}

std::byte* StateSnapshot::address(std::size_t unit, Plane plane) const {
  const UnitState& state = units_[unit];
  return std::array{state.high, state.low, state.m, state.v}[static_cast<std::size_t>(plane)];
}

StateHashes StateSnapshot::hashes() const {
  return hashes_of(
      shape_, [this](std::size_t unit, Plane plane, std::int64_t offset, std::span<std::byte> out) {
        std::memcpy(out.data(), address(unit, plane) + offset, out.size());
      });
}

void StateSnapshot::read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor,
                         std::int64_t first, std::span<float> out) const {
  const UnitState& state = units_[unit];
  const std::int64_t offset = tensor.offset + first;
  if (part != StatePart::weights) {
    const std::byte* moment = part == StatePart::m ? state.m : state.v;
    std::memcpy(out.data(), moment + 4 * offset, out.size_bytes());
    return;
  }
  const auto* high = reinterpret_cast<const std::uint16_t*>(state.high) + offset;
  const auto* low = reinterpret_cast<const std::uint16_t*>(state.low) + offset;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = join_master({high[i], low[i]});
}

}  // namespace sluice::engine
