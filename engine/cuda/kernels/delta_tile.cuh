// Small matrix products within a thread block, on tensor cores: a warp computes a tile of sums from
// elements that functions give.
#pragma once

#include "engine/cuda/kernels/delta_part.cuh"

namespace sluice::engine::cuda {

/// The bits of `x`, rounded to the nearest tf32.
__device__ inline std::uint32_t to_tf32(float x) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}

/// Left factors of a tile's products for 8 terms: a(i, k) for 16 Rows rows from term k on.
template <int Rows>
struct LeftFactors {
  std::uint32_t bits[Rows][4];

  template <class A>
  __device__ LeftFactors(const A& a, int k) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int group = lane / 4, in_group = lane % 4;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      bits[i][0] = to_tf32(a(i * 16 + group, k + in_group));
      bits[i][1] = to_tf32(a(i * 16 + group + 8, k + in_group));
      bits[i][2] = to_tf32(a(i * 16 + group, k + in_group + 4));
      bits[i][3] = to_tf32(a(i * 16 + group + 8, k + in_group + 4));
    }
  }
};

/// Right factors for 8 terms: b(k, j) for 8 columns from `column` on.
struct RightFactors {
  std::uint32_t low, high;

  template <class B>
  __device__ RightFactors(const B& b, int k, int column) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    low = to_tf32(b(k + lane % 4, column + lane / 4));
    high = to_tf32(b(k + lane % 4 + 4, column + lane / 4));
  }
};

/// Sums of 16 Rows x 8 Columns products that one warp computes, in registers.
template <int Rows, int Columns>
struct DeltaTile {
  float sum[Rows][Columns][4] = {};

  __device__ void add(const LeftFactors<Rows>& left, const RightFactors& right, int column) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
      float(&c)[4] = sum[i][column];
      asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
          "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(left.bits[i][0]), "r"(left.bits[i][1]), "r"(left.bits[i][2]), "r"(left.bits[i][3]),
            "r"(right.low), "r"(right.high));
    }
  }
  /// sum[i, j] += sum over k < depth of a(i, k) b(k, j); depth is a multiple of 8. Ahead: times 8
  /// terms whose factors are read together.
  template <int Ahead = 2, class A, class B>
  __device__ void add(int depth, const A& a, const B& b) {
#pragma unroll Ahead
    for (int k = 0; k < depth; k += 8) {
      const LeftFactors<Rows> left(a, k);
#pragma unroll
      for (int j = 0; j < Columns; ++j) add(left, RightFactors(b, k, j * 8), j);
    }
  }
  /// Adds products with the same right factors to two tiles.
  template <class A, class Other, class B>
  __device__ static void add_both(DeltaTile& one, DeltaTile& two, int depth, const A& a,
                                  const Other& other, const B& b) {
#pragma unroll 2
    for (int k = 0; k < depth; k += 8) {
      const LeftFactors<Rows> left(a, k), second(other, k);
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
        const RightFactors right(b, k, j * 8);
        one.add(left, right, j);
        two.add(second, right, j);
      }
    }
  }
  __device__ void subtract(const DeltaTile& other) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) sum[i][j][r] -= other.sum[i][j][r];
      }
    }
  }
  /// Calls body(row, column, sum) for each sum of this lane.
  template <class Body>
  __device__ void each(const Body& body) {
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
      for (int j = 0; j < Columns; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          body(i * 16 + lane / 4 + r / 2 * 8, j * 8 + lane % 4 * 2 + r % 2, sum[i][j][r]);
        }
      }
    }
  }
};

/// A matrix in shared memory.
template <class T>
struct SharedMatrix {
  T* data;
  int stride;
  [[nodiscard]] __device__ float operator()(int row, int column) const {
    return data[row * stride + column];
  }
  [[nodiscard]] __device__ T& at(int row, int column) const { return data[row * stride + column]; }
};
template <>
__device__ inline float SharedMatrix<std::uint16_t>::operator()(int row, int column) const {
  return low_half(data[row * stride + column]);
}
using SharedFloats = SharedMatrix<float>;
using SharedHalves = SharedMatrix<std::uint16_t>;

/// Unused elements between rows in shared memory, by which tiles are read without conflicts.
inline constexpr int kHalvesGap = 8, kFloatsGap = 4;

/// Hands out dynamic shared memory, in the same order on the host, which counts it.
class SharedSpace {
 public:
  __host__ __device__ explicit SharedSpace(unsigned char* memory) : next_(memory) {}
  template <class T>
  __host__ __device__ T* take(int count) {
    T* taken = reinterpret_cast<T*>(next_);
    next_ += (static_cast<std::size_t>(count) * sizeof(T) + 15) / 16 * 16;
    return taken;
  }
  __host__ __device__ SharedFloats floats(int rows, int columns, int gap = kFloatsGap) {
    return {take<float>(rows * (columns + gap)), columns + gap};
  }
  __host__ __device__ SharedHalves halves(int rows, int columns) {
    return {take<std::uint16_t>(rows * (columns + kHalvesGap)), columns + kHalvesGap};
  }
  [[nodiscard]] __host__ __device__ unsigned char* end() const { return next_; }

 private:
  unsigned char* next_;
};

/// A chunk's rows on their way from device memory to shared memory, in registers. Rows are
/// multiples of 16 bytes, of at most MostColumns elements.
template <class T, int MostColumns, int Threads>
struct FetchedRows {
  static constexpr int kEach = 16 / static_cast<int>(sizeof(T));
  static constexpr int kMost = kChunk * MostColumns / kEach / Threads;
  static_assert(kMost * kEach * Threads == kChunk * MostColumns);
  uint4 vector[kMost];

  /// Calls body(i, row, column) for each vector i of this thread.
  template <class Body>
  __device__ static void each(int columns, const Body& body) {
    const int vectors = columns / kEach;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      const int v = static_cast<int>(threadIdx.x) + i * Threads;
      if (v < kChunk * vectors) body(i, v / vectors, v % vectors * kEach);
    }
  }
  /// Begins to read `rows` rows of `columns` elements, `stride` apart; rows behind them are zero.
  __device__ void fetch(const T* from, std::int64_t stride, int rows, int columns) {
    each(columns, [&](int i, int row, int column) {
      vector[i] = row < rows ? *reinterpret_cast<const uint4*>(from + row * stride + column)
                             : make_uint4(0, 0, 0, 0);
    });
  }
  __device__ void put(int columns, const SharedMatrix<T>& to) const {
    each(columns, [&](int i, int row, int column) {
      *reinterpret_cast<uint4*>(&to.at(row, column)) = vector[i];
    });
  }
};

/// Copies `rows` rows of `columns` elements, `stride` apart, to shared memory, and zeros to the
/// rows behind them up to a chunk.
template <class T>
__device__ void load_chunk(const T* from, std::int64_t stride, int rows, int columns,
                           const SharedMatrix<T>& to) {
  constexpr int kEach = 16 / static_cast<int>(sizeof(T));
  const int vectors = columns / kEach;
#pragma unroll 4
  for (int v = static_cast<int>(threadIdx.x); v < kChunk * vectors;
       v += static_cast<int>(blockDim.x)) {
    const int row = v / vectors, column = v % vectors * kEach;
    *reinterpret_cast<uint4*>(&to.at(row, column)) =
        row < rows ? *reinterpret_cast<const uint4*>(from + row * stride + column)
                   : make_uint4(0, 0, 0, 0);
  }
}

/// Factors of a chunk's tokens for one head; those behind the last token are 0, as its decay is 1.
struct ChunkFactors {
  float *sum, *from_start, *to_end;  ///< The vectors gamma, E and L.
  float *q, *k;                      ///< What normalises q, with its scale, and k.
  float *from_start_q, *to_end_k;    ///< The same times E and L.
  float *beta, *erasing;             ///< Learning rate, and beta E times what normalises k.

  __host__ __device__ explicit ChunkFactors(SharedSpace& space)
      : sum(space.take<float>(kChunk)),
        from_start(space.take<float>(kChunk)),
        to_end(space.take<float>(kChunk)),
        q(space.take<float>(kChunk)),
        k(space.take<float>(kChunk)),
        from_start_q(space.take<float>(kChunk)),
        to_end_k(space.take<float>(kChunk)),
        beta(space.take<float>(kChunk)),
        erasing(space.take<float>(kChunk)) {}

  /// A token's inputs of the first 64 threads, in registers.
  struct Fetched {
    float low, high;  ///< Decays g of token lane and of token lane + 32.
    float q, k, beta;
  };
  __device__ static Fetched fetch(const DeltaPartView& part, std::int64_t sequence,
                                  const DeltaChunkRange& chunk, int head) {
    const int i = static_cast<int>(threadIdx.x), lane = i % kWarp;
    if (i >= kChunk) return {};
    const std::int64_t first = part.token(sequence) + chunk.first;
    const int global_head = part.first_head + head, key_head = global_head / part.served;
    const auto decay_of = [&](int token) {
      return token < chunk.tokens ? part.g[(first + token) * part.value_heads + global_head] : 0.0f;
    };
    Fetched fetched{.low = decay_of(lane), .high = decay_of(lane + kWarp)};
    if (i >= chunk.tokens) return fetched;
    const float* lengths = part.lengths + (first + i) * 2 * part.key_heads + key_head;
    fetched.q = lengths[0] * rsqrtf(static_cast<float>(part.key_dim));
    fetched.k = lengths[part.key_heads];
    fetched.beta = part.beta[(first + i) * part.value_heads + global_head];
    return fetched;
  }
  /// Fills all by the first 64 threads; the caller passes a barrier behind.
  __device__ void put(const Fetched& fetched) const {
    const int i = static_cast<int>(threadIdx.x), lane = i % kWarp;
    if (i >= kChunk) return;
    // Both warps add up the first 32 tokens, so that neither waits for the other.
    float low = fetched.low, high = fetched.high;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const float before = __shfl_up_sync(kAllLanes, low, static_cast<unsigned>(distance));
      const float behind = __shfl_up_sync(kAllLanes, high, static_cast<unsigned>(distance));
      if (lane >= distance) {
        low += before;
        high += behind;
      }
    }
    high += __shfl_sync(kAllLanes, low, kWarp - 1);
    const float all = __shfl_sync(kAllLanes, high, kWarp - 1);
    const float gamma = i < kWarp ? low : high;
    sum[i] = gamma;
    from_start[i] = expf(gamma);
    to_end[i] = expf(all - gamma);
    q[i] = fetched.q;
    k[i] = fetched.k;
    from_start_q[i] = fetched.q * from_start[i];
    to_end_k[i] = fetched.k * to_end[i];
    beta[i] = fetched.beta;
    erasing[i] = fetched.beta * from_start[i] * fetched.k;
  }
  __device__ void load(const DeltaPartView& part, std::int64_t sequence,
                       const DeltaChunkRange& chunk, int head) const {
    put(fetch(part, sequence, chunk, head));
  }
  /// exp(gamma of the chunk's last token).
  [[nodiscard]] __device__ float through() const { return from_start[kChunk - 1]; }
};

}  // namespace sluice::engine::cuda
