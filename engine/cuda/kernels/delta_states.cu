// The walk of the gated delta rule through a sequence's chunks: what depends on the state.
#include "engine/cuda/kernels/delta_walk.cuh"

namespace sluice::engine::cuda {
namespace {

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

}  // namespace

void delta_states(CUstream_st* stream, const DeltaPartView& part, std::uint16_t* o) {
  with_head_width(part, [&](auto width) { launch_walk<decltype(width)::value>(stream, part, o); });
}

}  // namespace sluice::engine::cuda
