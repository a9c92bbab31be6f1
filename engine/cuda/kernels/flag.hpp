// Flag in mapped host memory that a stream writes.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// Enqueues *flag = value: written once all that is before it on the stream is visible to the CPU.
/// `flag` points to 4 bytes of mapped host memory.
void write_flag(CUstream_st* stream, void* flag, std::int32_t value);

}  // namespace sluice::engine::cuda
