// The triangular systems of the gated delta rule, which do not need the state.
#include "engine/cuda/kernels/delta_stages.cuh"

namespace sluice::engine::cuda {
namespace {

constexpr int kBlock = 16;  ///< Rows of a block of the triangular matrix.

struct SystemSpace {
  SharedHalves q, k, v;
  SharedFloats lower, inverse;  ///< A and (I + A)^-1.
  SharedFloats product;         ///< Scratch of the inverse.
  ChunkFactors of;

  __host__ __device__ SystemSpace(SharedSpace& space, int key_dim, int value_dim)
      : q(space.halves(kChunk, key_dim)),
        k(space.halves(kChunk, key_dim)),
        v(space.halves(kChunk, value_dim)),
        lower(space.floats(kChunk, kChunk)),
        inverse(space.floats(kChunk, kChunk)),
        product(space.floats(kBlock, kChunk)),
        of(space) {}
};

/// Inverts the diagonal blocks of I + A, a thread a column, and clears what is above them.
__device__ void invert_blocks(const SystemSpace& space) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < kChunk * kChunk; i += kDeltaThreads) {
    if (i % kChunk / kBlock > i / kChunk / kBlock) space.inverse.at(i / kChunk, i % kChunk) = 0;
  }
  if (thread >= kChunk) return;
  const int first = thread / kBlock * kBlock, column = thread % kBlock;
  float x[kBlock];
#pragma unroll
  for (int i = 0; i < kBlock; ++i) {
    float value = i == column ? 1.0f : 0.0f;
#pragma unroll
    for (int j = 0; j < i; ++j) value = fmaf(-space.lower(first + i, first + j), x[j], value);
    x[i] = value;
    space.inverse.at(first + i, thread) = value;
  }
}

/// Fills the block row of the inverse T from row First on, given those before it: T_rc = -T_rr sum
/// over m < r of A_rm T_mc, where T_mc is 0 above the diagonal.
template <int First>
__device__ void invert_row(const SystemSpace& space) {
  constexpr int kEach = kBlock * First / kDeltaThreads;
  static_assert(kEach * kDeltaThreads == kBlock * First);
  __syncthreads();
#pragma unroll
  for (int each = 0; each < kEach; ++each) {
    const int at = static_cast<int>(threadIdx.x) + each * kDeltaThreads;
    const int i = at / First, column = at % First;
    float sum = 0;
#pragma unroll 16
    for (int k = 0; k < First; ++k) {
      sum = fmaf(space.lower(First + i, k), space.inverse(k, column), sum);
    }
    space.product.at(i, column) = sum;
  }
  __syncthreads();
#pragma unroll
  for (int each = 0; each < kEach; ++each) {
    const int at = static_cast<int>(threadIdx.x) + each * kDeltaThreads;
    const int i = at / First, column = at % First;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < kBlock; ++k) {
      sum = fmaf(space.inverse(First + i, First + k), space.product(k, column), sum);
    }
    space.inverse.at(First + i, column) = -sum;
  }
}

/// inverse = (I + A)^-1.
__device__ void invert(const SystemSpace& space) {
  invert_blocks(space);
  invert_row<kBlock>(space);
  invert_row<2 * kBlock>(space);
  invert_row<3 * kBlock>(space);
}

/// A and P from products of the chunk's keys and queries; P's rows go to `attention`.
__device__ void make_pairs(const SystemSpace& space, int key_dim, int tokens, std::int64_t stride,
                           float* attention) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int rows = warp / 2 * 16, columns = warp % 2 * 32;
  const ChunkFactors& of = space.of;
  const auto key = [&](int k, int j) { return space.k(columns + j, k); };
  DeltaTile<1, 4> kk, qk;
  DeltaTile<1, 4>::add_both(
      kk, qk, key_dim, [&](int i, int k) { return space.k(rows + i, k); },
      [&](int i, int k) { return space.q(rows + i, k); }, key);
  kk.each([&](int row, int column, float sum) {
    const int i = rows + row, j = columns + column;
    const float pair = of.k[i] * of.k[j] * sum * expf(of.sum[i] - of.sum[j]);
    space.lower.at(i, j) = j < i ? of.beta[i] * pair : 0.0f;
  });
  qk.each([&](int row, int column, float sum) {
    const int i = rows + row, j = columns + column;
    if (i >= tokens) return;
    attention[i * stride + j] =
        j <= i ? of.q[i] * of.k[j] * sum * expf(of.sum[i] - of.sum[j]) : 0.0f;
  });
}

/// out = inverse diag(factor) x, for the chunk's tokens.
template <class Factor>
__device__ void multiply_inverse(const SystemSpace& space, const SharedHalves& x, int columns,
                                 int tokens, std::int64_t stride, float* out,
                                 const Factor& factor) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  for (int slice = warp * 16; slice < columns; slice += kDeltaWarps * 16) {
    DeltaTile<4, 2> tile;
    tile.add(
        kChunk, [&](int i, int k) { return space.inverse(i, k) * factor(k); },
        [&](int k, int j) { return x(k, slice + j); });
    tile.each([&](int i, int j, float sum) {
      if (i < tokens) out[i * stride + slice + j] = sum;
    });
  }
}

/// One block per 64 tokens of a sequence, for a head.
template <int Width>
__global__ void __launch_bounds__(kDeltaThreads, 2)
    solve_chunks(DeltaPartView part, bool backward) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int key_dim = Width > 0 ? Width : part.key_dim;
  const int value_dim = Width > 0 ? Width : part.value_dim;
  SharedSpace shared(memory);
  const SystemSpace space(shared, key_dim, value_dim);
  const std::int64_t windows = planner::delta_states(part.length);
  const std::int64_t sequence = blockIdx.x / windows, base = part.token(sequence);
  const int head = static_cast<int>(blockIdx.y);
  const ChunkFactors& of = space.of;
  for_chunks_of_window(part, base, blockIdx.x % windows, [&](const DeltaChunkRange& chunk) {
    const std::uint16_t* inputs = part.mixed + (base + chunk.first) * part.channels;
    load_chunk(inputs + part.q_column(head), part.channels, chunk.tokens, key_dim, space.q);
    load_chunk(inputs + part.k_column(head), part.channels, chunk.tokens, key_dim, space.k);
    load_chunk(inputs + part.v_column(head), part.channels, chunk.tokens, value_dim, space.v);
    of.load(part, sequence, chunk, head);
    __syncthreads();
    const std::int64_t row = part.row(sequence, chunk.first, head);
    const std::int64_t step = part.heads;  // Rows between tokens.
    make_pairs(space, key_dim, chunk.tokens, step * kChunk, part.attention + row * kChunk);
    __syncthreads();
    invert(space);
    __syncthreads();
    multiply_inverse(space, space.v, value_dim, chunk.tokens, step * value_dim,
                     part.added + row * value_dim, [&](int k) { return of.beta[k]; });
    multiply_inverse(space, space.k, key_dim, chunk.tokens, step * key_dim,
                     part.erased + row * key_dim, [&](int k) { return of.erasing[k]; });
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < chunk.tokens) part.sums[row + thread * step] = of.sum[thread];
    if (backward) {
      for (int i = thread; i < chunk.tokens * kChunk; i += kDeltaThreads) {
        part.system[(row + i / kChunk * step) * kChunk + i % kChunk] =
            space.inverse(i / kChunk, i % kChunk);
      }
    }
    __syncthreads();
  });
}

}  // namespace

void delta_systems(CUstream_st* stream, const DeltaPartView& part, bool backward) {
  with_head_width(part, [&](auto width) {
    const auto kernel = solve_chunks<decltype(width)::value>;
    const std::size_t bytes = shared_bytes<SystemSpace>(part.key_dim, part.value_dim);
    allow_shared(kernel, bytes);
    const dim3 grid(static_cast<unsigned>(part.sequences * planner::delta_states(part.length)),
                    static_cast<unsigned>(part.heads));
    kernel<<<grid, kDeltaThreads, bytes, stream>>>(part, backward);
    check_launch("delta_systems");
  });
}

}  // namespace sluice::engine::cuda
