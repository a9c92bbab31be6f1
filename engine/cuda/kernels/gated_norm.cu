#include <algorithm>

#include "engine/cuda/kernels/activations.cuh"
#include "engine/cuda/kernels/gated_norm.hpp"
#include "engine/cuda/kernels/partial_sums.hpp"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kPairs = static_cast<int>(kMostGatedWidth) / 2 / kWarp;  ///< Pairs of a lane.
constexpr std::int64_t kMostParts = 512;

/// One head of a token, spread over a warp: lane l has pairs l, l + 32, ... of elements.
struct HeadRow {
  float2 pair[kPairs];

  __device__ static HeadRow load_from(const std::uint16_t* row, int pairs, int lane) {
    HeadRow mine;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int at = lane + i * kWarp;
      const std::uint32_t packed =
          at < pairs ? reinterpret_cast<const std::uint32_t*>(row)[at] : 0u;
      mine.pair[i] = make_float2(low_half(packed), high_half(packed));
    }
    return mine;
  }
  __device__ void store_to(std::uint16_t* row, int pairs, int lane) const {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int at = lane + i * kWarp;
      if (at < pairs) reinterpret_cast<std::uint32_t*>(row)[at] = pack(pair[i].x, pair[i].y);
    }
  }
  [[nodiscard]] __device__ float dot(const HeadRow& other) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      sum = fmaf(pair[i].x, other.pair[i].x, sum);
      sum = fmaf(pair[i].y, other.pair[i].y, sum);
    }
    return lane_sum(sum);
  }
  /// Calls body(pair i's element) for both elements of every pair.
  template <class Body>
  __device__ static void each(const Body& body) {
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      body([i](auto& row) -> auto& { return row.pair[i].x; });
      body([i](auto& row) -> auto& { return row.pair[i].y; });
    }
  }
};

__device__ float rstd_of(const GatedNorm& norm, const HeadRow& x) {
  return 1.0f / sqrtf(x.dot(x) / static_cast<float>(norm.cols) + norm.eps);
}
__device__ std::int64_t gate_at(const GatedNorm& norm, std::int64_t row) {
  return row / norm.heads * norm.gate_row + row % norm.heads * norm.cols;
}

/// One warp per head of a token.
__global__ void __launch_bounds__(kThreads) normalize(GatedNorm norm, std::uint16_t* y) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= norm.tokens * norm.heads) return;
  const int pairs = static_cast<int>(norm.cols) / 2;
  HeadRow x = HeadRow::load_from(norm.x + row * norm.cols, pairs, lane);
  const HeadRow z = HeadRow::load_from(norm.z + gate_at(norm, row), pairs, lane);
  const HeadRow weight = HeadRow::load_from(norm.weight, pairs, lane);
  const float rstd = rstd_of(norm, x);
  HeadRow::each([&](const auto& of) {
    const float gate = of(z);
    of(x) = of(weight) * (of(x) * rstd) * (gate * fast_sigmoid(gate));
  });
  x.store_to(y + row * norm.cols, pairs, lane);
}

/// Backward pass of one head of a token; adds to the lane's part of the weight's gradient.
__device__ void pass_back(const GatedNorm& norm, std::int64_t row, int lane, const HeadRow& weight,
                          std::uint16_t* d_y, std::uint16_t* d_z, HeadRow& d_weight) {
  const int pairs = static_cast<int>(norm.cols) / 2;
  const HeadRow x = HeadRow::load_from(norm.x + row * norm.cols, pairs, lane);
  HeadRow z = HeadRow::load_from(norm.z + gate_at(norm, row), pairs, lane);
  HeadRow d = HeadRow::load_from(d_y + row * norm.cols, pairs, lane);
  const float rstd = rstd_of(norm, x);
  HeadRow::each([&](const auto& of) {
    const float gate = of(z), open = fast_sigmoid(gate), normed = of(x) * rstd;
    of(z) = of(d) * of(weight) * normed * (open * fmaf(gate, 1.0f - open, 1.0f));
    of(d_weight) += of(d) * normed * (gate * open);
    of(d) *= of(weight) * (gate * open);  // Gradient of x rstd.
  });
  // With n = x rstd: dx = rstd (dn - n mean(n dn)).
  const float mean = x.dot(d) * rstd / static_cast<float>(norm.cols);
  HeadRow::each([&](const auto& of) { of(d) = rstd * (of(d) - of(x) * rstd * mean); });
  z.store_to(d_z + gate_at(norm, row), pairs, lane);
  d.store_to(d_y + row * norm.cols, pairs, lane);
}

__global__ void __launch_bounds__(kThreads)
    normalize_backward(GatedNorm norm, std::uint16_t* d_y, std::uint16_t* d_z, float* partials) {
  __shared__ float sums[kWarps][kMostGatedWidth];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int pairs = static_cast<int>(norm.cols) / 2;
  const HeadRow weight = HeadRow::load_from(norm.weight, pairs, lane);
  HeadRow d_weight{};
  const std::int64_t rows = norm.tokens * norm.heads;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + warp; row < rows;
       row += step) {
    pass_back(norm, row, lane, weight, d_y, d_z, d_weight);
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    sums[warp][2 * (lane + i * kWarp)] = d_weight.pair[i].x;
    sums[warp][2 * (lane + i * kWarp) + 1] = d_weight.pair[i].y;
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < norm.cols; c += kThreads) {
    float total = sums[0][c];
    for (int w = 1; w < kWarps; ++w) total += sums[w][c];
    partials[blockIdx.x * norm.cols + c] = total;
  }
}

/// Number of blocks with a partial sum, which fixes the order of sums.
std::int64_t parts_of(std::int64_t rows) { return std::min(ceil_div(rows, kWarps), kMostParts); }

void check_norm(const GatedNorm& norm) {
  check(norm.tokens > 0 && norm.heads > 0 && norm.cols > 0 && norm.cols % 2 == 0 &&
            norm.cols <= kMostGatedWidth && norm.gate_row % 2 == 0 &&
            norm.tokens * norm.heads <= INT32_MAX,
        "heads of a gated norm have an even number of at most 256 columns");
  check(aligned(norm.x, norm.weight), "the operands of a norm are 16-byte aligned");
}

}  // namespace

void gated_norm(CUstream_st* stream, const GatedNorm& norm, std::uint16_t* y) {
  check_norm(norm);
  normalize<<<static_cast<unsigned>(ceil_div(norm.tokens * norm.heads, kWarps)), kThreads, 0,
              stream>>>(norm, y);
  check_launch("gated_norm");
}

void gated_norm_backward(CUstream_st* stream, const GatedNorm& norm, std::uint16_t* d_y,
                         std::uint16_t* d_z, float* d_weight, Into into, void* workspace) {
  check_norm(norm);
  const std::int64_t parts = parts_of(norm.tokens * norm.heads);
  auto* partials = static_cast<float*>(workspace);
  normalize_backward<<<static_cast<unsigned>(parts), kThreads, 0, stream>>>(norm, d_y, d_z,
                                                                            partials);
  check_launch("gated_norm_backward");
  sum_partials(stream, partials, parts, norm.cols, d_weight, into);
}

Bytes gated_norm_workspace(std::int64_t rows, std::int64_t cols) {
  return Bytes(parts_of(rows) * cols * static_cast<std::int64_t>(sizeof(float)));
}

}  // namespace sluice::engine::cuda
