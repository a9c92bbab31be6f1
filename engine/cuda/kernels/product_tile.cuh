// Matrix product of one tile on tensor cores: a block of 8 warps computes 128 x 128 results, 32
// terms at a time. Operands are copied to shared memory asynchronously, the next pair while the
// previous one is multiplied. Elements outside the group or the matrix are taken as zero.
#pragma once

#include <cuda_pipeline_primitives.h>
#include <mma.h>

#include "engine/cuda/kernels/into.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::engine::cuda {

namespace wmma = nvcuda::wmma;

inline constexpr int kProductThreads = 256;
inline constexpr int kTile = static_cast<int>(planner::kExpertTile);
inline constexpr int kDepth = 32;
/// Unused elements between rows of an operand's tile in shared memory, which reduce bank conflicts.
inline constexpr int kGap = 8;
inline constexpr int kVectors = kTile * kDepth / static_cast<int>(kVector) / kProductThreads;
/// Number of bf16 elements that one operand's tile takes in shared memory, in the larger of the two
/// layouts.
inline constexpr int kOperand = kTile * (kDepth + kGap);
inline constexpr int kFragment = 16;
inline constexpr int kWarpRows = 64, kWarpColumns = 32;
/// Number of fp32 elements of the shared memory through which a warp writes its results.
inline constexpr int kStaging = kFragment * (kFragment + 4);
static_assert(kTile == 128 && kDepth * (kTile + kGap) <= kOperand);
static_assert(kProductThreads / kWarp * kStaging * 4 <= 4 * kOperand * 2);

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

template <Layout L>
__device__ void load_tile(const OperandTile& tile, std::int64_t term, std::uint16_t* shared) {
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int v = static_cast<int>(threadIdx.x) + i * kProductThreads;
    constexpr int kWidth = (L == Layout::terms_in_row ? kDepth : kTile) / kVector;
    const int r = v / kWidth;
    const int c = v % kWidth * static_cast<int>(kVector);
    const bool inside = L == Layout::terms_in_row ? r < tile.results && term + c < tile.terms
                                                  : term + r < tile.terms && c < tile.results;
    const std::uint16_t* from = tile.data;
    if (inside) {
      from = L == Layout::terms_in_row
                 ? tile.row(tile.first_row + r) + term + c
                 : tile.row(tile.first_row + term + r) + tile.first_column + c;
    }
    constexpr int kRow = (L == Layout::terms_in_row ? kDepth : kTile) + kGap;
    __pipeline_memcpy_async(shared + r * kRow + c, from, 16, inside ? 0 : 16);
  }
}

template <Layout L>
struct FragmentLayouts;
template <>
struct FragmentLayouts<Layout::terms_in_row> {
  using A = wmma::row_major;
  using B = wmma::col_major;
  static constexpr int kRow = kDepth + kGap;
  __device__ static int at(int result, int term) { return result * kRow + term; }
};
template <>
struct FragmentLayouts<Layout::terms_in_column> {
  using A = wmma::col_major;
  using B = wmma::row_major;
  static constexpr int kRow = kTile + kGap;
  __device__ static int at(int result, int term) { return term * kRow + result; }
};

inline constexpr int kAcross = kWarpRows / kFragment, kAlong = kWarpColumns / kFragment;
using Sums = wmma::fragment<wmma::accumulator, kFragment, kFragment, kFragment, float>;

/// Row and column, within the block's tile of results, of the first result that this warp computes.
__device__ inline int warp_row() {
  return static_cast<int>(threadIdx.x) / kWarp / (kTile / kWarpColumns) * kWarpRows;
}
__device__ inline int warp_column() {
  return static_cast<int>(threadIdx.x) / kWarp % (kTile / kWarpColumns) * kWarpColumns;
}

template <Layout LA, Layout LB>
__device__ void multiply_tiles(const std::uint16_t* a, const std::uint16_t* b,
                               Sums (&sums)[kAcross][kAlong]) {
  using InA = FragmentLayouts<LA>;
  using InB = FragmentLayouts<LB>;
#pragma unroll
  for (int term = 0; term < kDepth; term += kFragment) {
    wmma::fragment<wmma::matrix_a, kFragment, kFragment, kFragment, __nv_bfloat16, typename InA::A>
        left[kAcross];
    wmma::fragment<wmma::matrix_b, kFragment, kFragment, kFragment, __nv_bfloat16, typename InB::B>
        right[kAlong];
#pragma unroll
    for (int i = 0; i < kAcross; ++i) {
      const std::uint16_t* from = a + InA::at(warp_row() + i * kFragment, term);
      wmma::load_matrix_sync(left[i], reinterpret_cast<const __nv_bfloat16*>(from), InA::kRow);
    }
#pragma unroll
    for (int j = 0; j < kAlong; ++j) {
      const std::uint16_t* from = b + InB::at(warp_column() + j * kFragment, term);
      wmma::load_matrix_sync(right[j], reinterpret_cast<const __nv_bfloat16*>(from), InB::kRow);
    }
#pragma unroll
    for (int i = 0; i < kAcross; ++i) {
#pragma unroll
      for (int j = 0; j < kAlong; ++j) {
        wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
      }
    }
  }
}

/// Writes neighbouring results of one row: eight, or, at the last columns of an fp32 matrix, only
/// `count`.
__device__ inline void put(std::uint16_t* out, const float* values, int, Into) {
  Eight eight;
#pragma unroll
  for (int i = 0; i < kVector; ++i) eight.value[i] = values[i];
  store(out, 0, eight.packed());
}
__device__ inline void put(float* out, const float* values, int count, Into into) {
  if (count < kVector || reinterpret_cast<std::uintptr_t>(out) % 16 != 0) {
    for (int i = 0; i < count; ++i) {
      out[i] = into == Into::accumulate ? out[i] + values[i] : values[i];
    }
    return;
  }
  auto* four = reinterpret_cast<float4*>(out);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float4 sum =
        make_float4(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]);
    if (into == Into::accumulate) {
      const float4 before = four[i];
      sum = make_float4(before.x + sum.x, before.y + sum.y, before.z + sum.z, before.w + sum.w);
    }
    four[i] = sum;
  }
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
__device__ void add_bias(const ResultTile<Out>& out, int row, int column, int count,
                         float* values) {
  const float factor = out.factor == nullptr ? 1.0f : out.factor[row];
  for (int i = 0; i < count; ++i) {
    values[i] = __fadd_rn(values[i], __fmul_rn(factor, low_half(out.bias[column + i])));
  }
}

template <class Out>
__device__ void write_tile(const Sums (&sums)[kAcross][kAlong], const OperandTile& a,
                           const OperandTile& b, const ResultTile<Out>& out, float* staging) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  float* own = staging + static_cast<int>(threadIdx.x) / kWarp * kStaging;
  constexpr int kRow = kFragment + 4;
#pragma unroll
  for (int i = 0; i < kAcross; ++i) {
#pragma unroll
    for (int j = 0; j < kAlong; ++j) {
      wmma::store_matrix_sync(own, sums[i][j], kRow, wmma::mem_row_major);
      __syncwarp();
      const int row = warp_row() + i * kFragment + lane / 2;
      const int column = warp_column() + j * kFragment + lane % 2 * static_cast<int>(kVector);
      if (row < a.results && column < b.results) {
        const auto count = static_cast<int>(min(kVector, b.results - column));
        float* values = own + lane / 2 * kRow + lane % 2 * kVector;
        if (out.bias != nullptr) add_bias(out, row, column, count, values);
        put(out.data + row * out.stride + column, values, count, out.into);
      }
      __syncwarp();
    }
  }
}

template <Layout LA, Layout LB, class Out>
__device__ void product_tile(const OperandTile& a, const OperandTile& b,
                             const ResultTile<Out>& out) {
  __shared__ __align__(128) std::uint16_t shared[2][2][kOperand];
  Sums sums[kAcross][kAlong];
#pragma unroll
  for (int i = 0; i < kAcross; ++i) {
#pragma unroll
    for (int j = 0; j < kAlong; ++j) wmma::fill_fragment(sums[i][j], 0.0f);
  }
  const auto load_stage = [&](std::int64_t term, int stage) {
    load_tile<LA>(a, term, shared[stage][0]);
    load_tile<LB>(b, term, shared[stage][1]);
    __pipeline_commit();
  };
  if (a.terms > 0) load_stage(0, 0);
  int stage = 0;
  for (std::int64_t term = 0; term < a.terms; term += kDepth, stage ^= 1) {
    const bool more = term + kDepth < a.terms;
    if (more) load_stage(term + kDepth, stage ^ 1);
    if (more) {
      __pipeline_wait_prior(1);
    } else {
      __pipeline_wait_prior(0);
    }
    __syncthreads();
    multiply_tiles<LA, LB>(shared[stage][0], shared[stage][1], sums);
    __syncthreads();
  }
  write_tile(sums, a, b, out, reinterpret_cast<float*>(&shared[0][0][0]));
}

}  // namespace sluice::engine::cuda
