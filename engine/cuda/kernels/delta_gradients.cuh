// What a block of threads holds of one chunk while it computes the chunk's gradients.
#pragma once

#include "engine/cuda/kernels/delta_stages.cuh"

namespace sluice::engine::cuda {

inline constexpr int kGradientThreads = 512;
inline constexpr int kGradientWarps = kGradientThreads / kWarp;
/// Number of ranges of 16 tokens of a chunk, and of warps that share a row or a column of its
/// pairs.
inline constexpr int kQuarters = kChunk / 16;
static_assert(kGradientWarps == kQuarters * kQuarters);
/// Most ranges of 16 columns of a head.
inline constexpr int kMostSlices = static_cast<int>(kMostDeltaHead) / 16;

/// A warp's 32 tokens by 16 columns of a matrix [chunk, head's elements].
using ChunkTile = DeltaTile<2, 2>;
static_assert(kGradientWarps == 2 * kMostSlices);

/// First token and column of this warp's ChunkTile.
struct TilePlace {
  int row, column;
  __device__ static TilePlace own() {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    return {warp % 2 * 32, warp / 2 * 16};
  }
};

struct GradientSpace {
  SharedHalves q, k, d_output;
  SharedFloats added, d_right;   ///< N, and dN, then dR.
  SharedFloats system, d_pairs;  ///< (I + A)^-1, then the gradients of k_i k_j and of q_i k_j.
  ChunkFactors of;
  float *d_sum, *d_beta;
  /// Sums over 16 columns of the state: q dQ, k dK and k dY of each token.
  float *from_q, *from_k, *from_y;
  float *row_sums, *row_beta;  ///< Sums of warps over their columns of pairs.
  float* column_sums;          ///< Sums of warps over their rows of pairs.
  float* warp_sums;

  __host__ __device__ GradientSpace(SharedSpace& space, int key_dim, int value_dim)
      : q(space.halves(kChunk, key_dim)),
        k(space.halves(kChunk, key_dim)),
        d_output(space.halves(kChunk, value_dim)),
        added(space.floats(kChunk, value_dim)),
        d_right(space.floats(kChunk, value_dim)),
        system(space.floats(kChunk, kChunk)),
        d_pairs(space.floats(kChunk, kChunk)),
        of(space),
        d_sum(space.take<float>(kChunk)),
        d_beta(space.take<float>(kChunk)),
        from_q(space.take<float>(kMostSlices * kChunk)),
        from_k(space.take<float>(kMostSlices * kChunk)),
        from_y(space.take<float>(kMostSlices * kChunk)),
        row_sums(space.take<float>(kQuarters * kChunk)),
        row_beta(space.take<float>(kQuarters * kChunk)),
        column_sums(space.take<float>(kQuarters * kChunk)),
        warp_sums(space.take<float>(kGradientWarps)) {}
};

/// A block's chunk and what it reads of the part.
struct ChunkPlace {
  DeltaChunkRange chunk;
  std::int64_t token;  ///< First token of the chunk, of all.
  std::int64_t row;    ///< Index of that token and the head in the part's arrays.
  std::int64_t step;   ///< Rows between tokens.
  int head, global_head;
  const float *state, *d_state;  ///< S before and dS' after the chunk; null where they are 0.
};

__device__ inline ChunkPlace place_of(const DeltaPartView& part, std::int64_t sequence, int head,
                                      const DeltaChunkRange& chunk) {
  const float* state =
      chunk.begins ? nullptr : part.states + part.state(sequence, chunk.first, head);
  const float* d_state =
      chunk.ends ? nullptr : part.d_states + part.state(sequence, chunk.first + chunk.tokens, head);
  return {chunk,
          part.token(sequence) + chunk.first,
          part.row(sequence, chunk.first, head),
          part.heads,
          head,
          part.first_head + head,
          state,
          d_state};
}

__device__ inline void load_chunk_of(const DeltaPartView& part, std::int64_t sequence,
                                     const ChunkPlace& at, int key_dim, int value_dim,
                                     const std::uint16_t* d_o, const GradientSpace& space) {
  const std::uint16_t* inputs = part.mixed + at.token * part.channels;
  const int tokens = at.chunk.tokens;
  load_chunk(inputs + part.q_column(at.head), part.channels, tokens, key_dim, space.q);
  load_chunk(inputs + part.k_column(at.head), part.channels, tokens, key_dim, space.k);
  const std::int64_t values = static_cast<std::int64_t>(part.value_heads) * value_dim;
  load_chunk(d_o + at.token * values + static_cast<std::int64_t>(at.global_head) * value_dim,
             values, tokens, value_dim, space.d_output);
  load_chunk(part.added + at.row * value_dim, at.step * value_dim, tokens, value_dim, space.added);
  load_chunk(part.d_added + at.row * part.widest(), at.step * part.widest(), tokens, value_dim,
             space.d_right);
  load_chunk(part.system + at.row * kChunk, at.step * kChunk, tokens, kChunk, space.system);
  space.of.load(part, sequence, at.chunk, at.head);
}

}  // namespace sluice::engine::cuda
