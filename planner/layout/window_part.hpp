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
  from_disk,  ///< Written by reads from the disk.
  to_disk,    ///< Read by writes to the disk.
  shared,     ///< Tensors that compute or launch tasks touch; they keep addresses of their own.
  loaded,     ///< Read by copies to the device: weights, gradients, m, low halves.
  loaded_moment2,  ///< Read by copies to the device: v, of which the optimizer takes square roots.
  /// Read by copies to the device: activation records, whole ones behind one another.
  loaded_record,
  stored,  ///< Written by copies from the device.
  /// An operand of the CPU's optimizer: high halves. This part and all that follow are the operands
  /// of the same elements.
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

/// A gradient that a step's stores leave in the window: its place and the type of its elements.
struct StoredGradient {
  Bytes offset{0}, bytes{0};
  GradientWire element = GradientWire::fp32;
};

}  // namespace sluice::planner
