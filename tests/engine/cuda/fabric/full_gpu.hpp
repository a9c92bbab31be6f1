// A kernel that leaves no room for another one.
#pragma once

struct CUstream_st;

namespace sluice::engine::cuda::testing {

/// Enqueues on `stream` a kernel that occupies every thread slot of the current GPU's
/// multiprocessors until the CPU sets `*ended`, which lies in memory that both see.
void occupy_all_multiprocessors(CUstream_st* stream, const volatile int* ended);

}  // namespace sluice::engine::cuda::testing
