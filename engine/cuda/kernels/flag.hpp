// Flag in mapped host memory that a stream writes.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// *flag = value, written once everything before it on the stream is visible to the CPU.
void write_flag(CUstream_st* stream, void* flag, std::int32_t value);

}  // namespace sluice::engine::cuda
