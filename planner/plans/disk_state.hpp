// Layout on disk of a unit's optimizer state and, where they live there too, its waiting gradient
// and its weights: in pieces, each of which passes through one host buffer for its update.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/disk_block.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Elements [first, first + count) of a unit as they lie on disk: low halves (none for fp32
/// compute, whose weights hold both halves), then Adam's moments m, then v. Each of these planes
/// begins at a multiple of kDiskAlign.
struct DiskPiece {
  std::int64_t first = 0, count = 0;
  /// Offset of the piece in the unit's state tensor on disk, a multiple of kDiskBlock.
  Bytes offset{0};
  Bytes bytes{0};  ///< Bytes of the piece's optimizer state; a multiple of kDiskAlign.
  /// Offsets of m and of v from the start of the piece; low halves begin at 0.
  Bytes moment1{0}, moment2{0};
  /// Offset of the piece's gradient in the unit's gradient tensor on disk, a multiple of
  /// kDiskBlock, and its largest size, a multiple of kDiskAlign. Both 0 where the gradient does not
  /// wait on disk.
  Bytes gradient_offset{0}, gradient_bytes{0};

  /// Place of the piece's weights in the unit's weights tensor on disk: offset, a multiple of
  /// kDiskBlock; bytes, a multiple of kDiskAlign; and offset within them of the low halves, which
  /// only fp32 compute has. All 0 where weights do not live on disk.
  Bytes weights_offset{0}, weights_bytes{0}, weights_low{0};

  /// Offset of the piece's gradient in the host buffer through which the piece passes, behind the
  /// state.
  [[nodiscard]] Bytes gradient() const { return bytes; }
  /// Offset of the piece's weights in that host buffer, behind state and gradient.
  [[nodiscard]] Bytes weights() const { return bytes + gradient_bytes; }
  /// Bytes of the host buffer that state, gradient and weights of the piece take together.
  [[nodiscard]] Bytes buffer_bytes() const { return bytes + gradient_bytes + weights_bytes; }
};

/// Pieces into which a unit with `parameters` parameters (padding included) is cut on disk, of
/// about equal size. The host buffer of each takes at most `plan.disk_buffer`, but a piece is never
/// less than one block of kDiskBlock a plane.
[[nodiscard]] std::vector<DiskPiece> disk_pieces(const Job& job, const Plan& plan,
                                                 const UnitPlan& unit, std::int64_t parameters);

/// Bytes of one element of a gradient that waits for its update on the host or the disk: of its
/// type on the wire (Job::gradient_wire) or, with several rounds, of the type of the running sum.
[[nodiscard]] Bytes waiting_element(const Job& job, std::int64_t rounds);

/// Bytes of the disk tensor that holds the state of all of `pieces`.
[[nodiscard]] Bytes disk_bytes(const std::vector<DiskPiece>& pieces);
/// Bytes of the disk tensor that holds the waiting gradients of all of `pieces`.
[[nodiscard]] Bytes waiting_bytes(const std::vector<DiskPiece>& pieces);
/// Bytes of the disk tensor that holds the weights of all of `pieces`.
[[nodiscard]] Bytes weights_on_disk(const std::vector<DiskPiece>& pieces);

/// Bytes that a disk transfer of `elements` elements of `element` bytes each moves: their size,
/// rounded up to kDiskAlign.
[[nodiscard]] Bytes aligned_plane(std::int64_t elements, Bytes element);

/// Whether state of the job may live on the disk: state with fp32 masters that the CPU updates.
[[nodiscard]] bool may_use_disk(const Job& job);

/// Bytes that the optimizer state of `parameters` parameters takes on disk.
[[nodiscard]] Bytes disk_state_bytes(const Job& job, std::int64_t parameters);

}  // namespace sluice::planner
