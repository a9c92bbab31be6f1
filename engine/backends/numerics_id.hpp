// Numerics id of the host backend: runs of equal jobs with equal ids compute equal bits.
#pragma once

#include <string>

namespace sluice::engine {

/// Version of the host backend's arithmetic, part of its numerics id: to be increased whenever one
/// of its kernels, the optimizer or a reduction changes the bits it computes.
inline constexpr int kHostKernelsVersion = 1;

/// SHA-256 of everything that decides the host backend's bits: backend, processor family, OpenBLAS
/// core name and version (they choose the matrix kernels), C library version (exp, sin, cos),
/// kHostKernelsVersion. The optimizer's vector width is left out, because every version of it
/// computes the same bits.
[[nodiscard]] std::string host_numerics_id();

}  // namespace sluice::engine
