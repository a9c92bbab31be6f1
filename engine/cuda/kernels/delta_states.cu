// Walks of the gated delta rule through a sequence's chunks, forward and back: what depends on the
// state. A block has some columns of one head's state.
#include "engine/cuda/kernels/delta_stages.cuh"

namespace sluice::engine::cuda {
namespace {

/// Columns of the state that a block walks with.
template <int Width>
inline constexpr int kColumns = Width > 0 ? 32 : 16;
/// Gap of matrices whose rows are a product's terms.
constexpr int kTermsGap = 8;

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

/// What a walk reads of a chunk, in registers while the chunk before it is computed.
template <int Columns, bool Queries>
struct FetchedWalk {
  static constexpr int kMost = static_cast<int>(kMostDeltaHead);
  FetchedRows<std::uint16_t, kMost> q, k;
  FetchedRows<float, kMost> erased;
  FetchedRows<float, kChunk> attention;
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
  for (int i = static_cast<int>(threadIdx.x); i < key_dim * Columns; i += kDeltaThreads) {
    body(i / Columns, i % Columns);
  }
}

/// state := exp(gamma of the last token) state + sum over k of left(row, k) right(k, column), with
/// one or two such sums.
template <int Columns, class... Sums>
__device__ void move_state(const WalkSpace<Columns>& space, int key_dim, const Sums&... sums) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int rows = warp * 16; rows < key_dim; rows += kDeltaWarps * 16) {
    DeltaTile<1, Columns / 8> tile;
    (sums(tile, rows), ...);
    tile.each([&](int i, int j, float sum) {
      float& at = space.state.at(rows + i, j);
      at = fmaf(space.of.through(), at, sum);
    });
  }
}

/// Walks forward and writes o, or else N and the states before chunks.
template <int Width, bool Outputs>
__global__ void __launch_bounds__(kDeltaThreads) walk(DeltaPartView part, std::uint16_t* o) {
  constexpr int kColumnsHere = kColumns<Width>;
  extern __shared__ __align__(16) unsigned char memory[];
  const int key_dim = Width > 0 ? Width : part.key_dim;
  const int value_dim = Width > 0 ? Width : part.value_dim;
  SharedSpace shared(memory);
  const WalkSpace<kColumnsHere> space(shared, key_dim, value_dim);
  const ChunkFactors& of = space.of;
  const WalkPlace place = walk_place<kColumnsHere>(part);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int rows = warp / 2 * 16, columns = warp % 2 * (kColumnsHere / 2);
  const auto state = [&](int k, int j) { return space.state(k, columns + j); };
  FetchedWalk<kColumnsHere, Outputs> fetched;
  DeltaChunkRange next = chunk_at(part, place.base, 0);
  fetched.fetch(part, place, next, key_dim);
  for (std::int64_t t = 0; t < part.length;) {
    const DeltaChunkRange chunk = next;
    t += chunk.tokens;
    fetched.put(key_dim, space);
    if (chunk.begins) {
      for_state<kColumnsHere>(key_dim, [&](int i, int j) { space.state.at(i, j) = 0; });
    } else if (!Outputs) {
      float* kept =
          part.states + part.state(place.sequence, chunk.first, place.head) + place.column;
      for_state<kColumnsHere>(key_dim,
                              [&](int i, int j) { kept[i * value_dim + j] = space.state(i, j); });
    }
    __syncthreads();
    if (t < part.length) {
      next = chunk_at(part, place.base, t);
      fetched.fetch(part, place, next, key_dim);
    }
    // N = U - W S.
    const std::int64_t row = part.row(place.sequence, chunk.first, place.head);
    const std::int64_t step = static_cast<std::int64_t>(part.heads) * value_dim;
    float* added = part.added + row * value_dim + place.column;
    DeltaTile<1, kColumnsHere / 16> erased, output;
    if (!chunk.begins) {
      const auto erase = [&](int i, int k) { return space.erased(rows + i, k); };
      const auto query = [&](int i, int k) {
        return space.q(rows + i, k) * of.from_start_q[rows + i];
      };
      if (Outputs) {
        decltype(output)::add_both(erased, output, key_dim, erase, query, state);
      } else {
        erased.add(key_dim, erase, state);
      }
    }
    erased.each([&](int i, int j, float sum) {
      const int token = rows + i, column = columns + j;
      const float value = token < chunk.tokens ? added[token * step + column] - sum : 0.0f;
      space.added.at(token, column) = value;
      if (!Outputs && token < chunk.tokens) added[token * step + column] = value;
    });
    __syncthreads();
    if (Outputs) {
      // O = diag(E) Q S + P N.
      output.add(
          kChunk, [&](int i, int k) { return space.attention(rows + i, k); },
          [&](int k, int j) { return space.added(k, columns + j); });
      const std::int64_t first = (place.base + chunk.first) * part.value_heads + part.first_head;
      output.each([&](int i, int j, float sum) {
        const std::int64_t token = first + static_cast<std::int64_t>(rows + i) * part.value_heads;
        if (rows + i >= chunk.tokens) return;
        o[(token + place.head) * value_dim + place.column + columns + j] =
            static_cast<std::uint16_t>(pack(sum, 0));
      });
    }
    // S := exp(gamma_n) S + (diag(L) K)^T N.
    move_state(space, key_dim, [&](auto& tile, int first) {
      tile.add(
          kChunk, [&](int i, int k) { return space.k(k, first + i) * of.to_end_k[k]; },
          [&](int k, int j) { return space.added(k, j); });
    });
    __syncthreads();
  }
}

/// The block's columns of dO of a chunk, in registers: one vector of 16 bytes for each thread.
template <int Columns>
struct FetchedGradient {
  static constexpr int kVectors = Columns / static_cast<int>(kVector);
  static_assert(kChunk * kVectors <= kDeltaThreads);
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
__global__ void __launch_bounds__(kDeltaThreads)
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
  const int rows = warp / 2 * 16, columns = warp % 2 * (kColumnsHere / 2);
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
    DeltaTile<1, kColumnsHere / 16> d_added;
    d_added.add(
        kChunk, [&](int i, int k) { return space.attention(k, rows + i); },
        [&](int k, int j) { return space.d_output(k, columns + j); });
    if (!chunk.ends) {
      d_added.add(
          key_dim, [&](int i, int k) { return space.k(rows + i, k) * of.to_end_k[rows + i]; },
          [&](int k, int j) { return space.state(k, columns + j); });
    }
    const std::int64_t row = part.row(place.sequence, chunk.first, place.head);
    d_added.each([&](int i, int j, float sum) {
      const int token = rows + i, column = columns + j;
      space.added.at(token, column) = sum;
      if (token >= chunk.tokens) return;
      part.d_added[(row + static_cast<std::int64_t>(token) * part.heads) * part.widest() +
                   place.column + column] = sum;
    });
    __syncthreads();
    // dS = exp(gamma_n) dS' + (diag(E) Q)^T dO - W^T dN.
    move_state(
        space, key_dim,
        [&](auto& tile, int first) {
          tile.add(
              kChunk, [&](int i, int k) { return space.q(k, first + i) * of.from_start_q[k]; },
              [&](int k, int j) { return space.d_output(k, j); });
        },
        [&](auto& tile, int first) {
          tile.add(
              kChunk, [&](int i, int k) { return -space.erased(k, first + i); },
              [&](int k, int j) { return space.added(k, j); });
        });
    __syncthreads();
  }
}

template <int Width>
void launch_walk(CUstream_st* stream, const DeltaPartView& part, std::uint16_t* o) {
  constexpr int kColumnsHere = kColumns<Width>;
  const std::size_t bytes = shared_bytes<WalkSpace<kColumnsHere>>(part.key_dim, part.value_dim);
  const dim3 grid(static_cast<unsigned>(part.value_dim / kColumnsHere),
                  static_cast<unsigned>(part.heads), static_cast<unsigned>(part.sequences));
  const auto kernel = o == nullptr ? walk<Width, false> : walk<Width, true>;
  allow_shared(kernel, bytes);
  kernel<<<grid, kDeltaThreads, bytes, stream>>>(part, o);
  check_launch("delta_states");
}

template <int Width>
void launch_walk_back(CUstream_st* stream, const DeltaPartView& part, const std::uint16_t* d_o) {
  constexpr int kColumnsHere = kColumns<Width>;
  const std::size_t bytes = shared_bytes<WalkSpace<kColumnsHere>>(part.key_dim, part.value_dim);
  const dim3 grid(static_cast<unsigned>(part.value_dim / kColumnsHere),
                  static_cast<unsigned>(part.heads), static_cast<unsigned>(part.sequences));
  allow_shared(walk_back<Width>, bytes);
  walk_back<Width><<<grid, kDeltaThreads, bytes, stream>>>(part, d_o);
  check_launch("delta_states_backward");
}

}  // namespace

void delta_states(CUstream_st* stream, const DeltaPartView& part, std::uint16_t* o) {
  with_head_width(part, [&](auto width) { launch_walk<decltype(width)::value>(stream, part, o); });
}

void delta_states_backward(CUstream_st* stream, const DeltaPartView& part,
                           const std::uint16_t* d_o) {
  with_head_width(part,
                  [&](auto width) { launch_walk_back<decltype(width)::value>(stream, part, d_o); });
}

}  // namespace sluice::engine::cuda
