// Walks of the gated delta rule through a sequence's chunks, forward and back: what depends on the
// state. A block has some columns of one head's state.
#include "engine/cuda/kernels/delta_stages.cuh"

namespace sluice::engine::cuda {
namespace {

/// Columns of the state that a block walks with.
template <int Width>
inline constexpr int kColumns = Width > 0 ? 32 : 16;
/// Threads of a walk: two teams of 8 warps.
constexpr int kWalkThreads = 512, kWalkWarps = kWalkThreads / kWarp, kTeam = kWalkWarps / 2;
constexpr int kAhead = 4;
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

/// A warp's 16 tokens and half of the block's columns, by its number in a team.
template <int Columns>
struct WalkTile {
  using Sums = DeltaTile<1, Columns / 16>;
  int row, column;
  __device__ explicit WalkTile(int warp) : row(warp / 2 * 16), column(warp % 2 * (Columns / 2)) {}
};

/// N = U - W S, by the first team, to shared memory, and to `added` too if Keeps.
template <int Columns, bool Keeps>
__device__ void subtract_erased(const WalkSpace<Columns>& space, const DeltaChunkRange& chunk,
                                int key_dim, std::int64_t step, float* added) {
  const WalkTile<Columns> own(static_cast<int>(threadIdx.x) / kWarp);
  typename WalkTile<Columns>::Sums values, erased;
  values.each([&](int i, int j, float& value) {
    const int token = own.row + i;
    if (token < chunk.tokens) value = added[token * step + own.column + j];
  });
  if (!chunk.begins) {
    erased.template add<kAhead>(
        key_dim, [&](int i, int k) { return space.erased(own.row + i, k); },
        [&](int k, int j) { return space.state(k, own.column + j); });
  }
  values.subtract(erased);
  values.each([&](int i, int j, float value) {
    const int token = own.row + i, column = own.column + j;
    space.added.at(token, column) = value;
    if (Keeps && token < chunk.tokens) added[token * step + column] = value;
  });
}

/// Columns of o of a chunk's first token and the block's head.
template <int Columns>
__device__ std::int64_t output_place(const DeltaPartView& part, const WalkPlace& place,
                                     const DeltaChunkRange& chunk) {
  const std::int64_t row =
      (place.base + chunk.first) * part.value_heads + part.first_head + place.head;
  return row * part.value_dim + place.column;
}

/// O += P N, by the second team, from O = diag(E) Q S.
template <int Columns>
__device__ void write_outputs(const WalkSpace<Columns>& space, const DeltaChunkRange& chunk,
                              std::int64_t step, typename WalkTile<Columns>::Sums& sums,
                              std::uint16_t* o) {
  const WalkTile<Columns> own(static_cast<int>(threadIdx.x) / kWarp % kTeam);
  sums.template add<kAhead>(
      kChunk, [&](int i, int k) { return space.attention(own.row + i, k); },
      [&](int k, int j) { return space.added(k, own.column + j); });
  sums.each([&](int i, int j, float sum) {
    const int token = own.row + i;
    if (token >= chunk.tokens) return;
    o[token * step + own.column + j] = static_cast<std::uint16_t>(pack(sum, 0));
  });
}

/// S := exp(gamma_n) S + (diag(L) K)^T N.
template <int Columns, int Across>
__device__ void add_chunk(const WalkSpace<Columns>& space, int key_dim, const Team& team) {
  move_state<Columns, Across>(space, key_dim, team, [&](auto& tile, int first, int column) {
    tile.template add<kAhead>(
        kChunk, [&](int i, int k) { return space.k(k, first + i) * space.of.to_end_k[k]; },
        [&](int k, int j) { return space.added(k, column + j); });
  });
}

/// Walks forward and writes o, or else N and the states before chunks.
template <int Width, bool Outputs>
__global__ void __launch_bounds__(kWalkThreads) walk(DeltaPartView part, std::uint16_t* o) {
  constexpr int kColumnsHere = kColumns<Width>;
  extern __shared__ __align__(16) unsigned char memory[];
  const int key_dim = Width > 0 ? Width : part.key_dim;
  const int value_dim = Width > 0 ? Width : part.value_dim;
  SharedSpace shared(memory);
  const WalkSpace<kColumnsHere> space(shared, key_dim, value_dim);
  const WalkPlace place = walk_place<kColumnsHere>(part);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const WalkTile<kColumnsHere> own(warp % kTeam);
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
    typename WalkTile<kColumnsHere>::Sums output;
    if (warp < kTeam) {
      float* added =
          part.added + part.row(place.sequence, chunk.first, place.head) * value_dim + place.column;
      subtract_erased<kColumnsHere, !Outputs>(
          space, chunk, key_dim, static_cast<std::int64_t>(part.heads) * value_dim, added);
    } else if (Outputs && !chunk.begins) {
      output.template add<kAhead>(
          key_dim,
          [&](int i, int k) {
            return space.q(own.row + i, k) * space.of.from_start_q[own.row + i];
          },
          [&](int k, int j) { return space.state(k, own.column + j); });
    }
    __syncthreads();
    if (!Outputs) {
      add_chunk<kColumnsHere, 2>(space, key_dim, Team::all());
    } else if (warp < kTeam) {
      add_chunk<kColumnsHere, 1>(space, key_dim, Team::half());
    } else {
      write_outputs<kColumnsHere>(space, chunk,
                                  static_cast<std::int64_t>(part.value_heads) * value_dim, output,
                                  o + output_place<kColumnsHere>(part, place, chunk));
    }
    __syncthreads();
  }
}

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
void launch_walk(CUstream_st* stream, const DeltaPartView& part, std::uint16_t* o) {
  constexpr int kColumnsHere = kColumns<Width>;
  const std::size_t bytes = shared_bytes<WalkSpace<kColumnsHere>>(part.key_dim, part.value_dim);
  const dim3 grid(static_cast<unsigned>(part.value_dim / kColumnsHere),
                  static_cast<unsigned>(part.heads), static_cast<unsigned>(part.sequences));
  const auto kernel = o == nullptr ? walk<Width, false> : walk<Width, true>;
  allow_shared(kernel, bytes);
  kernel<<<grid, kWalkThreads, bytes, stream>>>(part, o);
  check_launch("delta_states");
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

void delta_states(CUstream_st* stream, const DeltaPartView& part, std::uint16_t* o) {
  with_head_width(part, [&](auto width) { launch_walk<decltype(width)::value>(stream, part, o); });
}

void delta_states_backward(CUstream_st* stream, const DeltaPartView& part,
                           const std::uint16_t* d_o) {
  with_head_width(part,
                  [&](auto width) { launch_walk_back<decltype(width)::value>(stream, part, d_o); });
}

}  // namespace sluice::engine::cuda
