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
  /// Tensors that compute or launch tasks touch; unlike the others they keep an address each.
  shared,
  loaded,          ///< Read by copies to the device: weights, gradients, m, low halves.
  loaded_moment2,  ///< Read by copies to the device: v, of which the optimizer takes square roots.
  /// Read by copies to the device: activation records, whole ones behind one another.
  loaded_record,
  stored,  ///< Written by copies from the device.
  /// Read and written by the CPU's optimizer: high halves. This part and all that follow hold the
  /// operands of the same parameters, element by element.
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
