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

/// Position of the first key that each token sees of its document under a window: first[s, t] =
/// max(starts[s, t], t + 1 - window), int32 [tokens] in sequences of `length`.
void first_keys_in_window(CUstream_st* stream, const std::int32_t* starts, std::int64_t tokens,
                          std::int64_t length, std::int64_t window, std::int32_t* first);

}  // namespace sluice::engine::cuda
