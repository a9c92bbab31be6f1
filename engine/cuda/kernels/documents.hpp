// Documents inside sequences. The rules of engine/cuda/kernels/norm.hpp hold.
#pragma once

#include <cstdint>

struct CUstream_st;

namespace sluice::engine::cuda {

/// Finds where each token's document begins: starts[s, t] = the last position at or before t of
/// sequence s whose id is negative (so marked as the first token of a document), or 0 if there is
/// none. ids and starts are int32 [sequences, length].
void document_starts(CUstream_st* stream, const std::int32_t* ids, std::int64_t sequences,
                     std::int64_t length, std::int32_t* starts);

}  // namespace sluice::engine::cuda
