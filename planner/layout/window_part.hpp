// Parts of the host window of a rehearsal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "planner/models/job.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Parts of a window, by what tasks use them for. Those of the disk come first, since their
/// transfers need addresses that are multiples of kDiskAlign.
enum class WindowUse : std::uint8_t {
  from_disk,  ///< Written by reads of the disk.
  to_disk,    ///< Read by writes to the disk.
  shared,     ///< Tensors that compute or launch tasks touch; they have addresses of their own.
  loaded,     ///< Read by h2d copies: weights, gradients, m, low halves.
  loaded_moment2,  ///< Read by h2d copies: v, of which the optimizer takes square roots.
  loaded_record,   ///< Read by h2d copies: activation records, whole ones behind one another.
  stored,          ///< Written by d2h copies.
  /// An operand of the CPU's optimizer: high halves. The parts from here on are the operands of the
  /// same elements.
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

/// A gradient that a step's stores leave in the window, and its type.
struct StoredGradient {
  Bytes offset{0}, bytes{0};
  GradientWire element = GradientWire::fp32;
};

}  // namespace sluice::planner
