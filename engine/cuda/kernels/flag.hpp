// A word of mapped host memory, written when a stream gets there.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// *flag = value, after everything before it on the stream is visible to the CPU.
void write_flag(CUstream_st* stream, void* flag, std::int32_t value);

}  // namespace sluice::engine::cuda
