// The numerics id: equal job and equal numerics id give equal bits.
#pragma once

#include <string>

namespace sluice::engine {

/// Moves whenever a kernel of the host backend, the optimizer or a reduction changes the bits it
/// computes.
inline constexpr int kHostKernelsVersion = 1;

/// SHA-256 of: backend, processor family, OpenBLAS core name and version (they choose the matrix
/// kernels), C library version (exp, sin, cos), kHostKernelsVersion. The vector width of the
/// optimizer is no part of it: every path computes the same bits.
[[nodiscard]] std::string host_numerics_id();

}  // namespace sluice::engine
