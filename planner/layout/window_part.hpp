// Parts of a rehearsal's host window (planner/layout/host_window.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Parts of a host window, by what tasks use them for. Those of the disk come first, since disk
/// transfers need addresses that are multiples of kDiskAlign.
enum class WindowUse : std::uint8_t {
  from_disk,  ///< Bytes that reads from the disk write.
  to_disk,    ///< Bytes that writes to the disk read.
  /// Tensors that compute or launch tasks touch; unlike the others they keep an address each.
  shared,
  loaded,  ///< Bytes that copies to the device read: weights, gradients, m, low halves.
  /// Bytes that copies to the device read as v; apart from the rest, because the optimizer takes
  /// square roots of v and other values may be negative.
  loaded_moment2,
  /// Bytes that copies to the device read as activation records, whole records behind one another.
  loaded_record,
  stored,  ///< Bytes that copies from the device write.
  /// Bytes that the CPU's optimizer reads and writes as high halves. This part and all that follow
  /// hold the operands of the same parameters, element by element.
  high,
  low,
  moment1,
  moment2,
  gradient,
};
inline constexpr std::size_t kWindowUses = 12;

struct WindowPart {
  WindowUse use;
  Bytes offset{0}, bytes{0};
};

/// A gradient that is still in the window at the end of a step after its copy from the device: its
/// bytes in the window, and the type of its elements.
struct StoredGradient {
  Bytes offset{0}, bytes{0};
  GradientWire element = GradientWire::fp32;
};

}  // namespace sluice::planner
