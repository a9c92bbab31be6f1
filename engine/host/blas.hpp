// Set-up of OpenBLAS for the host backend: one thread, and the fastest kernels this processor
// supports.
#pragma once

namespace sluice::engine {

/// Sets up OpenBLAS for this process; must be called before anything uses it, later calls do
/// nothing. From then on OpenBLAS computes on the calling thread. Releases older than the processor
/// fall back to kernels for a Prescott of 2004 (0.3.21 does so on Xeons of 2023); in that case
/// kernels are chosen by instruction set: SkylakeX for AVX-512, Haswell for AVX2. OPENBLAS_CORETYPE
/// in the environment takes precedence.
void prepare_blas();

}  // namespace sluice::engine
