// Parts of walks of the gated delta rule through a sequence's chunks: what a block of threads,
// which has some columns of one head's state, reads and moves.
#pragma once

#include "engine/cuda/kernels/delta_stages.cuh"

namespace sluice::engine::cuda {

/// Columns of the state that a block walks with.
template <int Width>
inline constexpr int kColumns = Width > 0 ? 32 : 16;
/// Threads of a walk: two teams of 8 warps.
inline constexpr int kWalkThreads = 512, kWalkWarps = kWalkThreads / kWarp, kTeam = kWalkWarps / 2;
inline constexpr int kAhead = 4;
/// Gap of matrices whose rows are a product's terms.
inline constexpr int kTermsGap = 8;

/// `Columns` columns of what a walk reads of one chunk, and of the state.
template <int Columns>
struct WalkSpace {
  SharedHalves q, k;
  SharedFloats erased, attention;  ///< W and P.
  SharedFloats added;              ///< N, or dN.
  SharedFloats d_output;           ///< dO.
  SharedFloats state;              ///< S, or its gradient.
  ChunkFactors of;

  __host__ __device__ WalkSpace(SharedSpace& space, int key_dim, int)
      : q(space.halves(kChunk, key_dim)),
        k(space.halves(kChunk, key_dim)),
        erased(space.floats(kChunk, key_dim)),
        attention(space.floats(kChunk, kChunk)),
        added(space.floats(kChunk, Columns, kTermsGap)),
        d_output(space.floats(kChunk, Columns, kTermsGap)),
        state(space.floats(key_dim, Columns, kTermsGap)),
        of(space) {}
};

/// A block's place: its sequence and head, and its first column.
struct WalkPlace {
  std::int64_t sequence, base;
  int head, column;
};
template <int Columns>
__device__ WalkPlace walk_place(const DeltaPartView& part) {
  const std::int64_t sequence = blockIdx.z;
  return {sequence, part.token(sequence), static_cast<int>(blockIdx.y),
          static_cast<int>(blockIdx.x) * Columns};
}

/// Operands of a chunk that a walk holds in registers while it computes the chunk before.
template <int Columns, bool Queries>
struct FetchedWalk {
  static constexpr int kMost = static_cast<int>(kMostDeltaHead);
  FetchedRows<std::uint16_t, kMost, kWalkThreads> q, k;
  FetchedRows<float, kMost, kWalkThreads> erased;
  FetchedRows<float, kChunk, kWalkThreads> attention;
  ChunkFactors::Fetched factors;

  __device__ void fetch(const DeltaPartView& part, const WalkPlace& place,
                        const DeltaChunkRange& chunk, int key_dim) {
    const std::uint16_t* inputs = part.mixed + (place.base + chunk.first) * part.channels;
    const std::int64_t row = part.row(place.sequence, chunk.first, place.head);
    const std::int64_t step = part.heads;
    k.fetch(inputs + part.k_column(place.head), part.channels, chunk.tokens, key_dim);
    erased.fetch(part.erased + row * key_dim, step * key_dim, chunk.tokens, key_dim);
    if (Queries) {
      q.fetch(inputs + part.q_column(place.head), part.channels, chunk.tokens, key_dim);
      attention.fetch(part.attention + row * kChunk, step * kChunk, chunk.tokens, kChunk);
    }
    factors = ChunkFactors::fetch(part, place.sequence, chunk, place.head);
  }
  __device__ void put(int key_dim, const WalkSpace<Columns>& space) const {
    k.put(key_dim, space.k);
    erased.put(key_dim, space.erased);
    if (Queries) {
      q.put(key_dim, space.q);
      attention.put(kChunk, space.attention);
    }
    space.of.put(factors);
  }
};

/// Calls body(row, column) for the block's elements of the state, in a part for each thread.
template <int Columns, class Body>
__device__ void for_state(int key_dim, const Body& body) {
  for (int i = static_cast<int>(threadIdx.x); i < key_dim * Columns; i += kWalkThreads) {
    body(i / Columns, i % Columns);
  }
}

/// Warps that share the rows of the state: all, or one of two teams of 8.
struct Team {
  int warp, warps;
  __device__ static Team all() { return {static_cast<int>(threadIdx.x) / kWarp, kWalkWarps}; }
  __device__ static Team half() { return {static_cast<int>(threadIdx.x) / kWarp % kTeam, kTeam}; }
};

/// state := exp(gamma of the last token) state + sum over k of left(row, k) right(k, column), with
/// one or two such sums, by the warps of a team, of whose Across side by side each has its columns.
template <int Columns, int Across, class... Sums>
__device__ void move_state(const WalkSpace<Columns>& space, int key_dim, const Team& team,
                           const Sums&... sums) {
  constexpr int kWidth = Columns / Across;
  const int column = team.warp % Across * kWidth;
  for (int rows = team.warp / Across * 16; rows < key_dim; rows += team.warps / Across * 16) {
    DeltaTile<1, kWidth / 8> tile;
    (sums(tile, rows, column), ...);
    tile.each([&](int i, int j, float sum) {
      float& at = space.state.at(rows + i, column + j);
      at = fmaf(space.of.through(), at, sum);
    });
  }
}

}  // namespace sluice::engine::cuda
