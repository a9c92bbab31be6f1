// Matrix product of one tile on tensor cores: a block of 4 warps computes 128 x 128 results, each
// warp 64 x 64, 32 terms at a time. Operands are copied to shared memory asynchronously, two steps
// before they are multiplied. Elements outside the group or the matrix are taken as zero.
#pragma once

#include <cuda_pipeline_primitives.h>

#include <type_traits>

#include "engine/cuda/kernels/into.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::engine::cuda {

inline constexpr int kProductThreads = 128;
inline constexpr int kTile = static_cast<int>(planner::kExpertTile);
inline constexpr int kDepth = 32;
inline constexpr int kStages = 3;
/// Number of vectors of eight elements that a thread copies of one operand's tile.
inline constexpr int kVectors = kTile * kDepth / static_cast<int>(kVector) / kProductThreads;
/// Number of bf16 elements that one operand's tile takes in shared memory.
inline constexpr int kOperand = kTile * kDepth;
inline constexpr int kWarpTile = 64;
/// Results and terms of one instruction: 16 x 8 results of 16 terms each.
inline constexpr int kRows = 16, kColumns = 8, kTerms = 16;
inline constexpr int kAcross = kWarpTile / kRows, kAlong = kWarpTile / kColumns;
static_assert(kTile == 2 * kWarpTile && kProductThreads == 4 * kWarp);
static_assert(kStages * 2 * kOperand * 2 <= 48 * 1024);

/// How an operand of a matrix product lies in memory: a row holds the terms that are summed for one
/// result (terms_in_row), or one term of many results (terms_in_column).
enum class Layout { terms_in_row, terms_in_column };

/// What one block of threads reads of an operand: up to 128 results, of which `results` exist, from
/// `first_row` or `first_column` on, each with `terms` terms.
struct OperandTile {
  const std::uint16_t* data;
  /// Row of the matrix in memory for each row of the operand; null for the same rows.
  const std::int32_t* index;
  std::int64_t stride;
  /// First row of the operand: of the results (terms_in_row) or of the terms (terms_in_column).
  std::int64_t first_row;
  std::int64_t first_column;  ///< First column of the results, if terms_in_column.
  std::int64_t results, terms;

  [[nodiscard]] __device__ const std::uint16_t* row(std::int64_t number) const {
    const std::int64_t at = index == nullptr ? number : index[number];
    return data + at * stride;
  }
};

/// Element of an operand's tile in shared memory where its vector of eight elements with these
/// first result and term lies. Vectors are exchanged within rows so that eight rows' vectors, which
/// ldmatrix reads together, lie in different banks.
template <Layout L>
__host__ __device__ constexpr int shared_at(int result, int term) {
  constexpr int kEight = static_cast<int>(kVector);
  if (L == Layout::terms_in_row) {
    return result * kDepth + ((term / kEight) ^ (result / 2 % 4)) * kEight;
  }
  return term * kTile + ((result / kEight) ^ (term % 8)) * kEight;
}

/// Result and term of the row that a lane addresses for ldmatrix.
struct LaneRow {
  int result, term;
};
/// For an instruction's left operand: 16 results of 16 terms, as four matrices of 8 x 8 in the
/// order of its registers (results first, then terms).
template <Layout L>
__host__ __device__ constexpr LaneRow left_row(int lane) {
  if (L == Layout::terms_in_row) return {lane % 8 + lane / 8 % 2 * 8, lane / 16 * 8};
  return {lane / 8 % 2 * 8, lane % 8 + lane / 16 * 8};
}
/// For two instructions' right operands: 16 results of 16 terms, terms first, then results.
template <Layout L>
__host__ __device__ constexpr LaneRow right_row(int lane) {
  if (L == Layout::terms_in_row) return {lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8};
  return {lane / 16 * 8, lane % 8 + lane / 8 % 2 * 8};
}

/// Copies an operand's tile, 32 terms at a time, to shared memory.
template <Layout L>
class TileCopy {
 public:
  __device__ explicit TileCopy(const OperandTile& tile) : tile_(tile) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (L == Layout::terms_in_row) {
        rows_[i] = result(i) < tile.results ? tile.row(tile.first_row + result(i)) : tile.data;
      }
    }
    look_up(0);
  }

  /// Starts the copies of the terms from `term` on, the ones after those of the call before.
  __device__ void start(std::int64_t term, std::uint16_t* shared) {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const std::int64_t at = term + TileCopy::term(i);
      const bool inside = result(i) < tile_.results && at < tile_.terms;
      const std::uint16_t* from = tile_.data;
      if (inside) {
        from = rows_[i] + (L == Layout::terms_in_row ? at : tile_.first_column + result(i));
      }
      __pipeline_memcpy_async(shared + shared_at<L>(result(i), TileCopy::term(i)), from, 16,
                              inside ? 0 : 16);
    }
    look_up(term + kDepth);
  }

 private:
  static constexpr int kWidth =
      (L == Layout::terms_in_row ? kDepth : kTile) / static_cast<int>(kVector);
  /// First result and first term, within the tile, of this thread's vector `i`.
  __device__ static int result(int i) {
    const int v = static_cast<int>(threadIdx.x) + i * kProductThreads;
    return L == Layout::terms_in_row ? v / kWidth : v % kWidth * static_cast<int>(kVector);
  }
  __device__ static int term(int i) {
    const int v = static_cast<int>(threadIdx.x) + i * kProductThreads;
    return L == Layout::terms_in_row ? v % kWidth * static_cast<int>(kVector) : v / kWidth;
  }
  /// Finds the rows of the terms from `term` on, long before they are copied.
  __device__ void look_up(std::int64_t term) {
    if constexpr (L == Layout::terms_in_column) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const std::int64_t at = term + TileCopy::term(i);
        rows_[i] = at < tile_.terms ? tile_.row(tile_.first_row + at) : tile_.data;
      }
    }
  }

  OperandTile tile_;
  const std::uint16_t* rows_[kVectors];
};

/// A warp's results: those of a lane of each instruction's.
using Sums = float[kAcross][kAlong][4];

/// Row and column, within the block's tile of results, of the first result that this warp computes.
__device__ inline int warp_row() { return static_cast<int>(threadIdx.x) / kWarp / 2 * kWarpTile; }
__device__ inline int warp_column() {
  return static_cast<int>(threadIdx.x) / kWarp % 2 * kWarpTile;
}

/// Four matrices of 8 x 8 elements whose rows the lanes address, transposed where the operand's
/// rows hold one term each.
template <Layout L>
__device__ void load_matrices(const std::uint16_t* row, std::uint32_t (&to)[4]) {
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(row));
  if (L == Layout::terms_in_row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
  } else {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(at));
  }
}

__device__ inline void multiply(const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1,
                                float (&sums)[4]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <Layout LA, Layout LB>
__device__ void multiply_tiles(const std::uint16_t* a, const std::uint16_t* b, Sums& sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const LaneRow of_a = left_row<LA>(lane), of_b = right_row<LB>(lane);
#pragma unroll
  for (int term = 0; term < kDepth; term += kTerms) {
    std::uint32_t left[kAcross][4], right[kAlong / 2][4];
#pragma unroll
    for (int i = 0; i < kAcross; ++i) {
      const int result = warp_row() + i * kRows + of_a.result;
      load_matrices<LA>(a + shared_at<LA>(result, term + of_a.term), left[i]);
    }
#pragma unroll
    for (int j = 0; j < kAlong / 2; ++j) {
      const int result = warp_column() + j * 2 * kColumns + of_b.result;
      load_matrices<LB>(b + shared_at<LB>(result, term + of_b.term), right[j]);
    }
#pragma unroll
    for (int i = 0; i < kAcross; ++i) {
#pragma unroll
      for (int j = 0; j < kAlong; ++j) {
        const auto& two = right[j / 2];
        multiply(left[i], two[j % 2 * 2], two[j % 2 * 2 + 1], sums[i][j]);
      }
    }
  }
}

/// Two neighbouring results of one row as they lie in memory.
struct Pair {
  float values[2];
};

/// Writes a pair, or, at the last column of an fp32 matrix, only its first result.
__device__ inline void put(std::uint16_t* out, const Pair& pair, int) {
  *reinterpret_cast<std::uint32_t*>(out) = pack(pair.values[0], pair.values[1]);
}
__device__ inline void put(float* out, const Pair& pair, int count) {
  if (count == 2 && reinterpret_cast<std::uintptr_t>(out) % 8 == 0) {
    *reinterpret_cast<float2*>(out) = make_float2(pair.values[0], pair.values[1]);
    return;
  }
  for (int i = 0; i < count; ++i) out[i] = pair.values[i];
}

/// The pair that lies at `from`, of which `count` results exist. Results in bf16 are never added
/// to.
__device__ inline Pair get(const std::uint16_t*, int) { return {}; }
__device__ inline Pair get(const float* from, int count) {
  if (count == 2 && reinterpret_cast<std::uintptr_t>(from) % 8 == 0) {
    const float2 two = *reinterpret_cast<const float2*>(from);
    return {{two.x, two.y}};
  }
  return {{from[0], count == 2 ? from[1] : 0.0f}};
}

/// Where a tile's results go: [results of a, results of b], in rows `stride` elements apart.
template <class Out>
struct ResultTile {
  Out* data;
  std::int64_t stride;
  Into into;
  const std::uint16_t* bias = nullptr;  ///< Added to every row; null for none.
  const float* factor = nullptr;        ///< Factor of the bias, by row; null for 1.
};

/// Adds the bias of `count` neighbouring columns to results of one row.
template <class Out>
__device__ void add_bias(const ResultTile<Out>& out, int row, int column, int count, Pair& pair) {
  const float factor = out.factor == nullptr ? 1.0f : out.factor[row];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (i >= count) continue;
    pair.values[i] = __fadd_rn(pair.values[i], __fmul_rn(factor, low_half(out.bias[column + i])));
  }
}

/// Writes a lane's results of one row. What they are added to is read before any is written, so
/// that reads do not wait for each other.
template <class Out>
__device__ void write_row(const float (&sums)[kAlong][4], int half, int row, const OperandTile& b,
                          const ResultTile<Out>& out) {
  const int first = warp_column() + static_cast<int>(threadIdx.x) % 4 * 2;
  Out* const to = out.data + row * out.stride;
  const auto count = [&](int column) {
    return static_cast<int>(min(std::int64_t{2}, b.results - column));
  };
  Pair before[kAlong] = {};
  if (out.into == Into::accumulate) {
#pragma unroll
    for (int j = 0; j < kAlong; ++j) {
      const int column = first + j * kColumns;
      if (column < b.results) before[j] = get(to + column, count(column));
    }
  }
#pragma unroll
  for (int j = 0; j < kAlong; ++j) {
    const int column = first + j * kColumns;
    if (column >= b.results) continue;
    Pair pair{{sums[j][2 * half], sums[j][2 * half + 1]}};
    if (out.bias != nullptr) add_bias(out, row, column, count(column), pair);
    if (out.into == Into::accumulate) {
      pair = {{before[j].values[0] + pair.values[0], before[j].values[1] + pair.values[1]}};
    }
    put(to + column, pair, count(column));
  }
}

/// Rows of a warp's results that pass through shared memory at a time, and floats from row to row
/// there, so that lanes write to and read from different banks.
inline constexpr int kPassedRows = kRows, kPassedStride = kWarpTile + 8;
static_assert(4 * kPassedRows * kPassedStride * 4 <= kStages * 2 * kOperand * 2);

/// Whether whole vectors of four results of each row lie at multiples of 16 bytes, and no bias is
/// added.
__device__ inline bool takes_fours(const OperandTile& b, const ResultTile<float>& out) {
  return out.bias == nullptr && out.stride % 4 == 0 && b.results % 4 == 0 &&
         reinterpret_cast<std::uintptr_t>(out.data) % 16 == 0;
}

/// Writes a tile of fp32 results by whole rows of a warp's, 256 bytes each, in place of pairs from
/// eight rows at a time. `shared` is the warp's own.
__device__ inline void write_fours(const Sums& sums, const OperandTile& a, const OperandTile& b,
                                   const ResultTile<float>& out, float* shared) {
  constexpr int kFours = kWarpTile / 4, kAtOnce = kWarp / kFours;  // A row's vectors; rows.
  constexpr int kReads = kPassedRows / kAtOnce;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int first = lane / kFours, column = warp_column() + lane % kFours * 4;
  const auto place = [&](int i, int read) {
    const int row = warp_row() + i * kRows + first + read * kAtOnce;
    return row < a.results && column < b.results
               ? reinterpret_cast<float4*>(out.data + row * out.stride + column)
               : nullptr;
  };
#pragma unroll
  for (int i = 0; i < kAcross; ++i) {
    float4 before[kReads];
#pragma unroll
    for (int read = 0; read < kReads; ++read) {
      const float4* from = out.into == Into::accumulate ? place(i, read) : nullptr;
      before[read] = from != nullptr ? *from : make_float4(0, 0, 0, 0);
    }
#pragma unroll
    for (int j = 0; j < kAlong; ++j) {
      float* const to = shared + lane / 4 * kPassedStride + j * kColumns + lane % 4 * 2;
      *reinterpret_cast<float2*>(to) = make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(to + 8 * kPassedStride) =
          make_float2(sums[i][j][2], sums[i][j][3]);
    }
    __syncwarp();
#pragma unroll
    for (int read = 0; read < kReads; ++read) {
      float4* const to = place(i, read);
      const int row = first + read * kAtOnce;
      float4 four =
          *reinterpret_cast<const float4*>(shared + row * kPassedStride + lane % kFours * 4);
      if (out.into == Into::accumulate) {
        four = make_float4(before[read].x + four.x, before[read].y + four.y,
                           before[read].z + four.z, before[read].w + four.w);
      }
      if (to != nullptr) *to = four;
    }
    __syncwarp();
  }
}

template <class Out>
__device__ void write_tile(const Sums& sums, const OperandTile& a, const OperandTile& b,
                           const ResultTile<Out>& out) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll
  for (int i = 0; i < kAcross; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row() + i * kRows + half * 8 + lane / 4;
      if (row < a.results) write_row(sums[i], half, row, b, out);
    }
  }
}

template <Layout LA, Layout LB, class Out>
__device__ void product_tile(const OperandTile& a, const OperandTile& b,
                             const ResultTile<Out>& out) {
  __shared__ __align__(128) std::uint16_t shared[kStages][2][kOperand];
  Sums sums = {};
  TileCopy<LA> left(a);
  TileCopy<LB> right(b);
  // An empty group is committed where there is nothing to copy, so that their number is known.
  const auto start = [&](std::int64_t term, int stage) {
    if (term < a.terms) {
      left.start(term, shared[stage][0]);
      right.start(term, shared[stage][1]);
    }
    __pipeline_commit();
  };
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) start(stage * kDepth, stage);
  int stage = 0, next = kStages - 1;
  for (std::int64_t term = 0; term < a.terms; term += kDepth) {
    __pipeline_wait_prior(kStages - 2);
    // All warps see the copies, and none reads the stage any more that is copied to next.
    __syncthreads();
    start(term + (kStages - 1) * kDepth, next);
    multiply_tiles<LA, LB>(shared[stage][0], shared[stage][1], sums);
    stage = stage + 1 == kStages ? 0 : stage + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  if constexpr (std::is_same_v<Out, float>) {
    if (takes_fours(b, out)) {
      __syncthreads();  // Other warps may still read operands.
      auto* const passed = reinterpret_cast<float*>(&shared[0][0][0]);
      const int warp = static_cast<int>(threadIdx.x) / kWarp;
      write_fours(sums, a, b, out, passed + warp * kPassedRows * kPassedStride);
      return;
    }
  }
  write_tile(sums, a, b, out);
}

}  // namespace sluice::engine::cuda
