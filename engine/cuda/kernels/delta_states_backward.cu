// The walk of the gated delta rule back through a sequence's chunks.
#include "engine/cuda/kernels/delta_walk.cuh"

namespace sluice::engine::cuda {
namespace {

/// The block's columns of dO of a chunk, in registers: one vector of 16 bytes for each thread.
template <int Columns>
struct FetchedGradient {
  static constexpr int kVectors = Columns / static_cast<int>(kVector);
  static_assert(kChunk * kVectors <= kWalkThreads);
  uint4 vector;

  __device__ void fetch(const DeltaPartView& part, const WalkPlace& place,
                        const DeltaChunkRange& chunk, int value_dim, const std::uint16_t* d_o) {
    const int token = static_cast<int>(threadIdx.x) / kVectors;
    const int column = static_cast<int>(threadIdx.x) % kVectors * static_cast<int>(kVector);
    vector = make_uint4(0, 0, 0, 0);
    if (token >= chunk.tokens) return;
    const std::int64_t row =
        (place.base + chunk.first + token) * part.value_heads + part.first_head + place.head;
    vector = cuda::load(d_o, row * value_dim + place.column + column);
  }
  __device__ void put(const SharedFloats& to) const {
    const int token = static_cast<int>(threadIdx.x) / kVectors;
    const int column = static_cast<int>(threadIdx.x) % kVectors * static_cast<int>(kVector);
    if (token >= kChunk) return;
    const Eight eight = Eight::unpack(vector);
#pragma unroll
    for (int i = 0; i < kVector; ++i) to.at(token, column + i) = eight.value[i];
  }
};

/// Walks back and writes dN and the gradients of states before chunks.
template <int Width>
__global__ void __launch_bounds__(kWalkThreads)
    walk_back(DeltaPartView part, const std::uint16_t* d_o) {
  constexpr int kColumnsHere = kColumns<Width>;
  extern __shared__ __align__(16) unsigned char memory[];
  const int key_dim = Width > 0 ? Width : part.key_dim;
  const int value_dim = Width > 0 ? Width : part.value_dim;
  SharedSpace shared(memory);
  const WalkSpace<kColumnsHere> space(shared, key_dim, value_dim);
  const ChunkFactors& of = space.of;
  const WalkPlace place = walk_place<kColumnsHere>(part);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  // Warps have 16 tokens by 8 columns each.
  constexpr int kAcross = kColumnsHere / 8;
  const int rows = warp / kAcross * 16, columns = warp % kAcross * 8;
  const bool mine = rows < kChunk;
  FetchedWalk<kColumnsHere, true> fetched;
  FetchedGradient<kColumnsHere> d_output;
  DeltaChunkRange next = chunk_ending_at(part, place.base, part.length - 1);
  fetched.fetch(part, place, next, key_dim);
  d_output.fetch(part, place, next, value_dim, d_o);
  for (std::int64_t t = part.length; t > 0;) {
    const DeltaChunkRange chunk = next;
    fetched.put(key_dim, space);
    d_output.put(space.d_output);
    if (chunk.ends) {
      for_state<kColumnsHere>(key_dim, [&](int i, int j) { space.state.at(i, j) = 0; });
    } else {
      float* kept = part.d_states + part.state(place.sequence, t, place.head) + place.column;
      for_state<kColumnsHere>(key_dim,
                              [&](int i, int j) { kept[i * value_dim + j] = space.state(i, j); });
    }
    t = chunk.first;
    __syncthreads();
    if (t > 0) {
      next = chunk_ending_at(part, place.base, t - 1);
      fetched.fetch(part, place, next, key_dim);
      d_output.fetch(part, place, next, value_dim, d_o);
    }
    // dN = P^T dO + diag(L) K dS'.
    DeltaTile<1, 1> d_added;
    if (mine) {
      d_added.template add<kAhead>(
          kChunk, [&](int i, int k) { return space.attention(k, rows + i); },
          [&](int k, int j) { return space.d_output(k, columns + j); });
    }
    if (mine && !chunk.ends) {
      d_added.template add<kAhead>(
          key_dim, [&](int i, int k) { return space.k(rows + i, k) * of.to_end_k[rows + i]; },
          [&](int k, int j) { return space.state(k, columns + j); });
    }
    const std::int64_t row = part.row(place.sequence, chunk.first, place.head);
    d_added.each([&](int i, int j, float sum) {
      const int token = rows + i, column = columns + j;
      if (mine) space.added.at(token, column) = sum;
      if (!mine || token >= chunk.tokens) return;
      part.d_added[(row + static_cast<std::int64_t>(token) * part.heads) * part.widest() +
                   place.column + column] = sum;
    });
    __syncthreads();
    // dS = exp(gamma_n) dS' + (diag(E) Q)^T dO - W^T dN.
    move_state<kColumnsHere, 2>(
        space, key_dim, Team::all(),
        [&](auto& tile, int first, int column) {
          tile.template add<kAhead>(
              kChunk, [&](int i, int k) { return space.q(k, first + i) * of.from_start_q[k]; },
              [&](int k, int j) { return space.d_output(k, column + j); });
        },
        [&](auto& tile, int first, int column) {
          tile.template add<kAhead>(
              kChunk, [&](int i, int k) { return -space.erased(k, first + i); },
              [&](int k, int j) { return space.added(k, column + j); });
        });
    __syncthreads();
  }
}

template <int Width>
void launch_walk_back(CUstream_st* stream, const DeltaPartView& part, const std::uint16_t* d_o) {
  constexpr int kColumnsHere = kColumns<Width>;
  const std::size_t bytes = shared_bytes<WalkSpace<kColumnsHere>>(part.key_dim, part.value_dim);
  const dim3 grid(static_cast<unsigned>(part.value_dim / kColumnsHere),
                  static_cast<unsigned>(part.heads), static_cast<unsigned>(part.sequences));
  allow_shared(walk_back<Width>, bytes);
  walk_back<Width><<<grid, kWalkThreads, bytes, stream>>>(part, d_o);
  check_launch("delta_states_backward");
}

}  // namespace

void delta_states_backward(CUstream_st* stream, const DeltaPartView& part,
                           const std::uint16_t* d_o) {
  with_head_width(part,
                  [&](auto width) { launch_walk_back<decltype(width)::value>(stream, part, d_o); });
}

}  // namespace sluice::engine::cuda
