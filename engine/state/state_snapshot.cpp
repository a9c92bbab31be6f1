#include "engine/state/state_snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include "engine/optimizer/master_weights.hpp"
#include "engine/state/moment_values.hpp"
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

Bytes StateSnapshot::size_of(const planner::ModelShape& shape, planner::StateType type) {
  std::int64_t bytes = 0;
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    const std::int64_t padded = planner::unit_padded_size(shape, unit);
    bytes += 4 * padded + 2 * moment_bytes(type, padded);
  }
  return Bytes(bytes);
}

StateSnapshot::StateSnapshot(const planner::ModelShape& shape, const TrainingState& state,
                             Keeps keeps)
    : shape_(shape),
      type_(state.type()),
      memory_(keeps == Keeps::all ? state.memory_to_read_into(size_of(shape, type_)) : nullptr) {
  std::byte* next = memory_.get();
  for (std::size_t unit = 0; unit < planner::unit_count(shape); ++unit) {
    const std::int64_t padded = planner::unit_padded_size(shape, unit);
    UnitState& unit_state = units_.emplace_back();
    padded_.push_back(padded);
    if (next == nullptr) continue;
    unit_state.elements = padded;
    unit_state.high = next;
    unit_state.low = unit_state.high + 2 * padded;
    unit_state.m = unit_state.low + 2 * padded;
    unit_state.v = unit_state.m + moment_bytes(type_, padded);
    next = unit_state.v + moment_bytes(type_, padded);
  }
}

void StateSnapshot::take(const TrainingState& state) {
  std::vector<PlaneCopy> pieces;
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const Plane plane : planes_of(type_)) {
      const auto bytes = static_cast<std::size_t>(plane_size(plane, type_).of(padded_[unit]));
      cut_into(pieces, {unit, plane, 0, units_[unit].at(plane), bytes});
    }
  }
  planner::parallel_for(pieces.size(), std::thread::hardware_concurrency(), [&](std::size_t i) {
    const PlaneCopy& piece = pieces[i];
    state.read_plane(piece.unit, piece.plane, static_cast<std::int64_t>(piece.offset),
                     {piece.to, piece.bytes});
  });
}

void StateSnapshot::take(const TrainingState& state, const RankLinks& links) {
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    for (const Plane plane : planes_of(type_)) gather_plane(state, unit, plane, links);
  }
}

void StateSnapshot::gather_plane(const TrainingState& state, std::size_t unit, Plane plane,
                                 const RankLinks& links) {
  const auto [rank, ranks] = links.world();
  const PlaneSize size = plane_size(plane, type_);
  const auto slice = static_cast<std::size_t>(size.of(state.slice(unit)));
  const auto end = static_cast<std::size_t>(size.of(padded_[unit]));
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
      std::memcpy(units_[unit].at(plane) + begin, pieces.of(each).data(),
                  std::min(bytes, end - begin));
    }
  }
}

StateHashes StateSnapshot::hashes() const {
  return hashes_of(
      shape_, type_,
      [this](std::size_t unit, Plane plane, std::int64_t offset, std::span<std::byte> out) {
        std::memcpy(out.data(), units_[unit].at(plane) + offset, out.size());
      });
}

void StateSnapshot::read(StatePart part, std::size_t unit, const planner::TensorSpec& tensor,
                         std::int64_t first, std::span<float> out) const {
  const UnitState& state = units_[unit];
  const std::int64_t offset = tensor.offset + first;
  if (part != StatePart::weights) {
    return read_moments(type_, part, offset, out,
                        [&](Plane plane, std::int64_t at, std::span<std::byte> bytes) {
                          std::memcpy(bytes.data(), state.at(plane) + at, bytes.size());
                        });
  }
  const auto* high = reinterpret_cast<const std::uint16_t*>(state.high) + offset;
  const auto* low = reinterpret_cast<const std::uint16_t*>(state.low) + offset;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = join_master({high[i], low[i]});
}

}  // namespace sluice::engine
