// How the optimizer state of a unit, a gradient that waits, and its weights lie on the disk: in
// pieces, each of which passes through one host buffer for its update.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Disk transfers and checksums are of blocks of this size; a piece begins with a block of its own.
inline constexpr Bytes kDiskBlock{256ll << 10};
/// Addresses and sizes of direct transfers.
inline constexpr Bytes kDiskAlign{4096};

/// Row of the memory tables for the host slots.
inline constexpr const char* kDiskBuffers = "disk buffers";

/// Elements [first, first + count) of a unit: low halves (none for fp32 compute, whose weights are
/// both halves), then m, then v, each plane from a multiple of kDiskAlign.
struct DiskPiece {
  std::int64_t first = 0, count = 0;
  Bytes offset{0};               ///< In the unit's tensor on the disk, a multiple of kDiskBlock.
  Bytes bytes{0};                ///< A multiple of kDiskAlign.
  Bytes moment1{0}, moment2{0};  ///< Where the planes begin in the piece; low halves at 0.
  /// Of the gradient, where it waits on the disk, too: in the unit's tensor of gradients there, a
  /// multiple of kDiskBlock, and the most that it takes, a multiple of kDiskAlign.
  Bytes gradient_offset{0}, gradient_bytes{0};

  /// Of the weights, where they live on the disk, too: in the unit's tensor of weights there, a
  /// multiple of kDiskBlock; their bytes, a multiple of kDiskAlign; and where among them low halves
  /// begin, high halves at 0. The low halves are there for fp32 compute, whose weights are both.
  Bytes weights_offset{0}, weights_bytes{0}, weights_low{0};

  /// In the host buffer the gradient lies behind the state, and the weights behind it.
  [[nodiscard]] Bytes gradient() const { return bytes; }
  [[nodiscard]] Bytes weights() const { return bytes + gradient_bytes; }
  [[nodiscard]] Bytes buffer_bytes() const { return bytes + gradient_bytes + weights_bytes; }
};

/// Pieces of about equal size of a unit with that choice, whose buffers take at most
/// `plan.disk_buffer` where a block a plane allows it.
[[nodiscard]] std::vector<DiskPiece> disk_pieces(const Job& job, const Plan& plan,
                                                 const UnitPlan& unit, std::int64_t parameters);

/// Bytes that an element of a gradient takes where it waits off the device: as it crosses the link,
/// or of several rounds as it is added up.
[[nodiscard]] Bytes waiting_element(const Job& job, std::int64_t rounds);

/// Bytes of the tensor that holds these pieces of state,
[[nodiscard]] Bytes disk_bytes(const std::vector<DiskPiece>& pieces);
/// of the one that holds their gradients,
[[nodiscard]] Bytes waiting_bytes(const std::vector<DiskPiece>& pieces);
/// and of the one that holds their weights.
[[nodiscard]] Bytes weights_on_disk(const std::vector<DiskPiece>& pieces);

/// Of so many elements of a gradient, as transfers move them.
[[nodiscard]] Bytes aligned_plane(std::int64_t elements, Bytes element);

/// Bytes a parameter that a unit's state takes on the disk.
[[nodiscard]] Bytes disk_element(const Job& job);

/// Does any unit's state live on the disk? No gradient waits there without it, and no weights live
/// there.
[[nodiscard]] bool uses_disk(const Plan& plan);

}  // namespace sluice::planner
