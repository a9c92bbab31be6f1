// Gradients of a chunk's q, k, v, g and beta, for all chunks at a time.
#include "engine/cuda/kernels/delta_gradients.cuh"

namespace sluice::engine::cuda {
namespace {

/// d_right := (I + A)^-T d_right. All threads call this.
__device__ void solve_transposed(int value_dim, const GradientSpace& space) {
  const auto [row, column] = TilePlace::own();
  ChunkTile d_right;
  if (column < value_dim) {
    d_right.add(
        kChunk, [&](int i, int k) { return space.system(k, row + i); },
        [&](int k, int j) { return space.d_right(k, column + j); });
  }
  __syncthreads();
  if (column < value_dim) {
    d_right.each([&](int i, int j, float sum) { space.d_right.at(row + i, column + j) = sum; });
  }
  __syncthreads();
}

/// dv = beta dR, and dR v of each token.
__device__ void pass_values(const DeltaPartView& part, const ChunkPlace& at, int value_dim,
                            const GradientSpace& space, std::uint16_t* d_mixed) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int i = static_cast<int>(threadIdx.x) / kWarp; i < kChunk; i += kGradientWarps) {
    float sum = 0;
    const std::int64_t from = (at.token + i) * part.channels + part.v_column(at.head);
    for (int c = lane; c < value_dim && i < at.chunk.tokens; c += kWarp) {
      const float d = space.d_right(i, c);
      sum = fmaf(d, low_half(part.mixed[from + c]), sum);
      d_mixed[from + c] = static_cast<std::uint16_t>(pack(space.of.beta[i] * d, 0));
    }
    sum = lane_sum(sum);
    if (lane == 0) space.d_beta[i] = sum;
  }
}

/// Adds the four lanes of a row's sums, which a tile has in four columns each.
__device__ float of_row(float value) { return lane_sum<4>(value); }

/// out[i] = the sum over this warp's columns of x(i, column) tile[i, column], for each of its
/// tokens.
template <class X>
__device__ void dot_rows(const ChunkTile& tile, const X& x, float* out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int r = 0; r < 4; ++r) {
    const int row = r / 2 * 16 + r % 2 * 8 + lane / 4;
    float sum = 0;
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const float value = tile.sum[r / 2][c / 2][r % 2 * 2 + c % 2];
      sum = fmaf(x(row, c / 2 * 8 + lane % 4 * 2 + c % 2), value, sum);
    }
    sum = of_row(sum);
    if (lane % 4 == 0) out[row] = sum;
  }
}

/// Parts of dQ and dK that pass through the state, and products of them with q and k.
__device__ void pass_state(const ChunkPlace& at, int value_dim, const TilePlace& own,
                           const GradientSpace& space, ChunkTile& d_q, ChunkTile& d_k) {
  const ChunkFactors& of = space.of;
  const auto [row, column] = own;
  const int sums = column / 16 * kChunk + row;
  const auto key = [&](int i, int j) { return space.k(row + i, column + j) * of.k[row + i]; };
  if (at.d_state != nullptr) {
    // X = N dS'^T: dK = diag(L) X.
    d_k.add(
        value_dim, [&](int i, int k) { return space.added(row + i, k); },
        [&](int k, int j) { return at.d_state[(column + j) * value_dim + k]; });
    d_k.each([&](int i, int, float& sum) { sum *= of.to_end[row + i]; });
  }
  dot_rows(d_k, key, space.from_k + sums);
  ChunkTile from_y;
  if (at.state != nullptr) {
    // dQ = diag(E) dO S^T; dY S^T = -diag(beta E) dR S^T.
    const auto state = [&](int k, int j) { return at.state[(column + j) * value_dim + k]; };
    ChunkTile::add_both(
        d_q, from_y, value_dim, [&](int i, int k) { return space.d_output(row + i, k); },
        [&](int i, int k) { return space.d_right(row + i, k); }, state);
    d_q.each([&](int i, int, float& sum) { sum *= of.from_start[row + i]; });
    from_y.each([&](int i, int, float& sum) { sum *= of.from_start[row + i]; });
  }
  dot_rows(
      d_q, [&](int i, int j) { return space.q(row + i, column + j) * of.q[row + i]; },
      space.from_q + sums);
  dot_rows(from_y, key, space.from_y + sums);
  from_y.each([&](int i, int, float& sum) { sum *= of.beta[row + i]; });
  d_k.subtract(from_y);
}

/// Adds up what warps found for each token: gradients of E and L, and what passes to beta.
__device__ void gather_tokens(const ChunkPlace& at, int key_dim, int value_dim,
                              const GradientSpace& space) {
  float through = 0;  // <S, dS'>
  if (at.state != nullptr && at.d_state != nullptr) {
    for (int i = static_cast<int>(threadIdx.x); i < key_dim * value_dim; i += kGradientThreads) {
      through = fmaf(at.state[i], at.d_state[i], through);
    }
  }
  through = block_sum(through, space.warp_sums) * space.of.through();
  const int i = static_cast<int>(threadIdx.x);
  const int slices = key_dim / 16;
  if (i < kChunk) {
    float q = 0, k = 0, y = 0;
    for (int w = 0; w < slices; ++w) {
      q += space.from_q[w * kChunk + i];
      k += space.from_k[w * kChunk + i];
      y += space.from_y[w * kChunk + i];
    }
    space.from_k[i] = k;
    space.d_sum[i] = q - k - space.of.beta[i] * y;
    space.d_beta[i] -= y;
  }
  __syncthreads();
  if (i == 0) {
    float all = through;
    for (int token = 0; token < kChunk; ++token) all += space.from_k[token];
    space.d_sum[at.chunk.tokens - 1] += all;
  }
}

/// Gradients of the products k_i k_j, to `system`, and q_i k_j, to `d_pairs`, and through the
/// decays between tokens.
__device__ void pass_pairs(const DeltaPartView& part, const ChunkPlace& at, int key_dim,
                           int value_dim, const GradientSpace& space) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int rows = warp / kQuarters * 16, columns = warp % kQuarters * 16;
  const ChunkFactors& of = space.of;
  const auto added = [&](int k, int j) { return space.added(columns + j, k); };
  DeltaTile<1, 2> d_system, d_attention, kk;
  DeltaTile<1, 2>::add_both(
      d_system, d_attention, value_dim, [&](int i, int k) { return -space.d_right(rows + i, k); },
      [&](int i, int k) { return space.d_output(rows + i, k); }, added);
  kk.add(
      key_dim, [&](int i, int k) { return space.k(rows + i, k); },
      [&](int k, int j) { return space.k(columns + j, k); });
  float of_rows[2] = {}, of_beta[2] = {}, of_columns[2][2] = {};
#pragma unroll
  for (int fragment = 0; fragment < 2; ++fragment) {
#pragma unroll
    for (int r = 0; r < 4; ++r) {
      const int i = rows + lane / 4 + r / 2 * 8;
      const int j = columns + fragment * 8 + lane % 4 * 2 + r % 2;
      const bool sees = j <= i && i < at.chunk.tokens;
      const float decay = sees ? expf(of.sum[i] - of.sum[j]) : 0.0f;
      const float d_a = j < i ? d_system.sum[0][fragment][r] : 0.0f;
      const float d_p = d_attention.sum[0][fragment][r];
      const float pair = of.k[i] * of.k[j] * kk.sum[0][fragment][r] * decay;
      const float p = sees ? part.attention[(at.row + i * at.step) * kChunk + j] : 0.0f;
      // dD D, from both products that D multiplies.
      const float d = d_a * of.beta[i] * pair + d_p * p;
      of_rows[r / 2] += d;
      of_beta[r / 2] = fmaf(d_a, pair, of_beta[r / 2]);
      of_columns[fragment][r % 2] += d;
      space.system.at(i, j) = d_a * of.beta[i] * decay;
      space.d_pairs.at(i, j) = d_p * decay;
    }
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float d = of_row(of_rows[r]), beta = of_row(of_beta[r]);
    const int at_row = warp % kQuarters * kChunk + rows + lane / 4 + r * 8;
    if (lane % 4 == 0) {
      space.row_sums[at_row] = d;
      space.row_beta[at_row] = beta;
    }
  }
#pragma unroll
  for (int fragment = 0; fragment < 2; ++fragment) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      float d = of_columns[fragment][c];
      for (int distance = 4; distance < kWarp; distance *= 2) {
        d += __shfl_xor_sync(kAllLanes, d, distance);
      }
      if (lane < 4) {
        space.column_sums[warp / kQuarters * kChunk + columns + fragment * 8 + lane * 2 + c] = d;
      }
    }
  }
}

/// Gradients of g and beta: g_i is part of gamma_j for j >= i.
__device__ void write_gates(const DeltaPartView& part, const ChunkPlace& at,
                            const GradientSpace& space, const DeltaRuleGradients& gradients) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < kChunk) {
    float d = space.d_sum[i], d_beta = space.d_beta[i];
#pragma unroll
    for (int quarter = 0; quarter < kQuarters; ++quarter) {
      d += space.row_sums[quarter * kChunk + i] - space.column_sums[quarter * kChunk + i];
      d_beta += space.row_beta[quarter * kChunk + i];
    }
    space.d_sum[i] = d;
    space.d_beta[i] = d_beta;
  }
  __syncthreads();
  if (i >= at.chunk.tokens) return;
  float sum = 0;
  for (int token = at.chunk.tokens - 1; token >= i; --token) sum += space.d_sum[token];
  const std::int64_t to = (at.token + i) * part.value_heads + at.global_head;
  gradients.g[to] = sum;
  gradients.beta[to] = space.d_beta[i];
}

/// dQ += (dP D) K and dK += (M + M^T) K + (dP D)^T Q, to the places of W and dN.
__device__ void finish_keys(const DeltaPartView& part, const ChunkPlace& at, int key_dim,
                            const TilePlace& own, const GradientSpace& space, ChunkTile& d_q,
                            ChunkTile& d_k) {
  const ChunkFactors& of = space.of;
  const auto [row, column] = own;
  const auto key = [&](int k, int j) { return space.k(k, column + j) * of.k[k]; };
  d_q.add(
      kChunk, [&](int i, int k) { return space.d_pairs(row + i, k); }, key);
  d_k.add(
      kChunk, [&](int i, int k) { return space.system(row + i, k) + space.system(k, row + i); },
      key);
  d_k.add(
      kChunk, [&](int i, int k) { return space.d_pairs(k, row + i); },
      [&](int k, int j) { return space.q(k, column + j) * of.q[k]; });
  d_q.each([&](int i, int j, float sum) {
    const int token = row + i;
    if (token >= at.chunk.tokens) return;
    part.erased[(at.row + token * at.step) * key_dim + column + j] = sum;
  });
  d_k.each([&](int i, int j, float sum) {
    const int token = row + i;
    if (token >= at.chunk.tokens) return;
    part.d_added[(at.row + token * at.step) * part.widest() + column + j] = sum;
  });
}

/// One block per 64 tokens of a sequence, for a head.
template <int Width>
__global__ void __launch_bounds__(kGradientThreads)
    pass_chunks(DeltaPartView part, const std::uint16_t* d_o, DeltaRuleGradients gradients) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int key_dim = Width > 0 ? Width : part.key_dim;
  const int value_dim = Width > 0 ? Width : part.value_dim;
  SharedSpace shared(memory);
  const GradientSpace space(shared, key_dim, value_dim);
  const std::int64_t windows = planner::delta_states(part.length);
  const std::int64_t sequence = blockIdx.x / windows, base = part.token(sequence);
  const TilePlace own = TilePlace::own();
  for_chunks_of_window(part, base, blockIdx.x % windows, [&](const DeltaChunkRange& chunk) {
    const ChunkPlace at = place_of(part, sequence, static_cast<int>(blockIdx.y), chunk);
    load_chunk_of(part, sequence, at, key_dim, value_dim, d_o, space);
    __syncthreads();
    solve_transposed(value_dim, space);
    pass_values(part, at, value_dim, space, gradients.mixed);
    ChunkTile d_q, d_k;
    if (own.column < key_dim) pass_state(at, value_dim, own, space, d_q, d_k);
    __syncthreads();
    gather_tokens(at, key_dim, value_dim, space);
    pass_pairs(part, at, key_dim, value_dim, space);
    __syncthreads();
    write_gates(part, at, space, gradients);
    if (own.column < key_dim) finish_keys(part, at, key_dim, own, space, d_q, d_k);
    __syncthreads();
  });
}

}  // namespace

void delta_chunk_gradients(CUstream_st* stream, const DeltaPartView& part, const std::uint16_t* d_o,
                           const DeltaRuleGradients& gradients) {
  with_head_width(part, [&](auto width) {
    const auto kernel = pass_chunks<decltype(width)::value>;
    const std::size_t bytes = shared_bytes<GradientSpace>(part.key_dim, part.value_dim);
    allow_shared(kernel, bytes);
    const dim3 grid(static_cast<unsigned>(part.sequences * planner::delta_states(part.length)),
                    static_cast<unsigned>(part.heads));
    kernel<<<grid, kGradientThreads, bytes, stream>>>(part, d_o, gradients);
    check_launch("delta_chunk_gradients");
  });
}

}  // namespace sluice::engine::cuda
