// OpenBLAS as the host backend uses it: one thread, and the kernels this processor deserves.
#pragma once

namespace sluice::engine {

/// Call before anything asks OpenBLAS for its core or a product; later calls do nothing.
/// OpenBLAS computes on the calling thread from here on, in the whole process. A release older than
/// the processor takes it for a Prescott of 2004 (0.3.21 does so with Xeons from 2023 on), which
/// costs five times the time; then the kernels are chosen by instruction set: AVX-512 SkylakeX,
/// AVX2 Haswell. The environment's OPENBLAS_CORETYPE, where set, has the last word.
void prepare_blas();

}  // namespace sluice::engine
