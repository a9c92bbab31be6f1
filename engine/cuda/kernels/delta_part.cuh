// One part of the gated delta rule as its kernels see it, and the chunks of its documents.
#pragma once

#include "engine/cuda/kernels/delta_rule.hpp"
#include "engine/cuda/kernels/vector.cuh"

namespace sluice::engine::cuda {

inline constexpr int kDeltaThreads = 256;
inline constexpr int kDeltaWarps = kDeltaThreads / kWarp;
inline constexpr int kChunk = static_cast<int>(planner::kDeltaChunk);

/// Sizes and addresses of one part; arrays are those of planner::DeltaRuleSpace.
struct DeltaPartView {
  int key_dim, value_dim, key_heads, value_heads;
  int heads;       ///< Value heads of the part.
  int served;      ///< Value heads that a key head serves.
  int first_head;  ///< First value head of the part.
  std::int64_t first_sequence, sequences, length, channels;
  const std::int32_t* starts;
  const std::uint16_t* mixed;
  const float *g, *beta, *lengths;
  float *sums, *added, *erased, *attention, *system, *d_added, *states, *d_states;

  /// Elements between rows of d_added.
  [[nodiscard]] __device__ int widest() const { return max(key_dim, value_dim); }
  [[nodiscard]] __device__ int start(std::int64_t token) const {
    return starts == nullptr ? 0 : starts[token];
  }
  /// First token of a sequence of the part among those of the micro-batch.
  [[nodiscard]] __device__ std::int64_t token(std::int64_t sequence) const {
    return (first_sequence + sequence) * length;
  }
  /// Index of a token and head of the part in its arrays.
  [[nodiscard]] __device__ std::int64_t row(std::int64_t sequence, std::int64_t t, int head) const {
    return (sequence * length + t) * heads + head;
  }
  /// Place of the state before the chunk that begins at token t.
  [[nodiscard]] __device__ std::int64_t state(std::int64_t sequence, std::int64_t t,
                                              int head) const {
    return ((sequence * planner::delta_states(length) + t / kChunk) * heads + head) * key_dim *
           value_dim;
  }
  /// Columns, in a row of q, k and v, of the head's parts, given its number in the part.
  [[nodiscard]] __device__ std::int64_t q_column(int head) const {
    return static_cast<std::int64_t>((first_head + head) / served) * key_dim;
  }
  [[nodiscard]] __device__ std::int64_t k_column(int head) const {
    return q_column(head) + static_cast<std::int64_t>(key_heads) * key_dim;
  }
  [[nodiscard]] __device__ std::int64_t v_column(int head) const {
    return std::int64_t{2} * key_heads * key_dim +
           static_cast<std::int64_t>(first_head + head) * value_dim;
  }
};

/// Tokens [first, first + tokens) of a sequence.
struct DeltaChunkRange {
  std::int64_t first;
  int tokens;
  bool begins, ends;  ///< Whether its document begins or ends with it.
};

/// Returns the chunk that begins at token `first`, of a sequence whose tokens begin at `base`; all
/// threads of a block call it together.
__device__ inline DeltaChunkRange chunk_at(const DeltaPartView& part, std::int64_t base,
                                           std::int64_t first) {
  const int start = part.start(base + first);
  const std::int64_t mine = first + threadIdx.x;
  const bool inside =
      threadIdx.x < kChunk && mine < part.length && part.start(base + mine) == start;
  const int tokens = __syncthreads_count(inside ? 1 : 0);
  const std::int64_t next = first + tokens;
  return {first, tokens, start == first, next >= part.length || part.start(base + next) != start};
}

/// The chunk whose last token is `last`.
__device__ inline DeltaChunkRange chunk_ending_at(const DeltaPartView& part, std::int64_t base,
                                                  std::int64_t last) {
  const int start = part.start(base + last);
  const std::int64_t first = start + (last - start) / kChunk * kChunk;
  return {first, static_cast<int>(last - first) + 1, start == first,
          last + 1 >= part.length || part.start(base + last + 1) != start};
}

/// Calls body(chunk) for every chunk that begins within the `window`-th 64 tokens of a sequence.
template <class Body>
__device__ void for_chunks_of_window(const DeltaPartView& part, std::int64_t base,
                                     std::int64_t window, const Body& body) {
  __shared__ unsigned begins[2];
  const std::int64_t mine = window * kChunk + threadIdx.x;
  if (threadIdx.x < kChunk) {
    const bool begin = mine < part.length && (mine - part.start(base + mine)) % kChunk == 0;
    const unsigned of_warp = __ballot_sync(kAllLanes, begin);
    if (threadIdx.x % kWarp == 0) begins[threadIdx.x / kWarp] = of_warp;
  }
  __syncthreads();
  const unsigned long long all = begins[0] | static_cast<unsigned long long>(begins[1]) << kWarp;
  for (unsigned long long left = all; left != 0; left &= left - 1) {
    body(chunk_at(part, base, window * kChunk + __ffsll(static_cast<long long>(left)) - 1));
  }
}

}  // namespace sluice::engine::cuda
