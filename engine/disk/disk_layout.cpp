#include "engine/disk/disk_layout.hpp"

#include <algorithm>
#include <iterator>

namespace sluice::engine {
namespace {

constexpr std::int64_t kBlockBytes = planner::kDiskBlock.count();

}  // namespace

/// The part of a piece that holds a plane: the piece's state, or its weights.
struct DiskLayout::Region {
  std::int64_t begin;  ///< Offset of a block in the file.
  std::int64_t bytes;
  std::int64_t plane;  ///< Offset of the plane in the block.
};

DiskLayout::DiskLayout(const planner::ModelShape& shape, const planner::StepGraph& graph)
    : type_(graph.state),
      pieces_(graph.disk),
      begin_(graph.disk.size(), 0),
      weights_begin_(graph.disk.size(), 0) {
  for (const planner::Placement& placement : graph.layout.placements) {
    const planner::StepTensor& tensor = graph.tensors[static_cast<std::size_t>(placement.tensor)];
    if (tensor.arena != planner::Arena::disk) continue;
    tensors_.emplace(placement.offset.count() / kBlockBytes, tensor.name);
    for (std::size_t unit = 0; unit < pieces_.size(); ++unit) {
      const std::string name = planner::unit_name(shape, unit);
      if (tensor.name == "state/" + name) begin_[unit] = placement.offset.count();
      if (tensor.name == "weights.disk/" + name) weights_begin_[unit] = placement.offset.count();
    }
  }
  for (const auto& pieces : pieces_) {
    low_ = low_ || (!pieces.empty() && pieces[0].moment1 > Bytes(0));
  }
}

bool DiskLayout::holds(std::size_t unit, DiskPlane plane) const {
  if (!holds(unit)) return false;
  const planner::DiskPiece& piece = pieces_[unit].front();
  if (plane == DiskPlane::high) return piece.weights_bytes > Bytes(0);
  return plane != DiskPlane::low || low_ || piece.weights_low > Bytes(0);
}

DiskLayout::Region DiskLayout::region_of(std::size_t unit, const planner::DiskPiece& piece,
                                         DiskPlane plane) const {
  if (plane == DiskPlane::high || (plane == DiskPlane::low && !low_)) {
    return {weights_begin_[unit] + piece.weights_offset.count(), piece.weights_bytes.count(),
            plane == DiskPlane::high ? 0 : piece.weights_low.count()};
  }
  const bool first = plane == DiskPlane::moment1 || plane == DiskPlane::scales1;
  const bool scales = plane == DiskPlane::scales1 || plane == DiskPlane::scales2;
  const Bytes at = plane == DiskPlane::low ? Bytes(0) : first ? piece.moment1 : piece.moment2;
  return {begin_[unit] + piece.offset.count(), piece.bytes.count(),
          at.count() + (scales ? scales_behind(piece.count) : 0)};
}

PlaneSize DiskLayout::size_of(DiskPlane plane) const {
  if (plane == DiskPlane::high || plane == DiskPlane::low) return {2, 1};
  const bool scales = plane == DiskPlane::scales1 || plane == DiskPlane::scales2;
  return scales ? kMomentScaleSize : moment_code_size(type_);
}

DiskPart DiskLayout::part_at(std::size_t unit, DiskPlane plane, std::int64_t offset,
                             std::int64_t bytes) const {
  const PlaneSize size = size_of(plane);
  const std::int64_t element = offset / size.bytes * size.elements;
  const std::vector<planner::DiskPiece>& pieces = pieces_[unit];
  const auto piece = std::prev(std::upper_bound(
      pieces.begin(), pieces.end(), element,
      [](std::int64_t first, const planner::DiskPiece& each) { return first < each.first; }));
  const Region region = region_of(unit, *piece, plane);
  const std::int64_t within = region.plane + offset - size.before(piece->first);
  const std::int64_t left_of_plane = size.of(piece->first + piece->count) - offset;
  const std::int64_t number = within / kBlockBytes;
  const std::int64_t block_bytes = std::min(kBlockBytes, region.bytes - number * kBlockBytes);
  const std::int64_t at = within - number * kBlockBytes;
  return {region.begin / kBlockBytes + number, block_bytes, at,
          std::min({bytes, left_of_plane, block_bytes - at})};
}

std::string DiskLayout::name_of(std::int64_t block) const {
  const auto& [first, name] = *std::prev(tensors_.upper_bound(block));
  const std::size_t slash = name.find('/');
  const char* what = name.starts_with("state/")     ? "optimizer state"
                     : name.starts_with("weights.") ? "weights"
                                                    : "gradient";
  return std::string(what) + " of " + name.substr(slash + 1) + ", block " +
         std::to_string(block - first);
}

Bytes DiskLayout::largest_piece() const {
  Bytes largest{0};
  for (const auto& pieces : pieces_) {
    for (const planner::DiskPiece& piece : pieces) {
      largest = std::max({largest, piece.bytes, piece.gradient_bytes, piece.weights_bytes});
    }
  }
  return largest;
}

}  // namespace sluice::engine
