#include <cmath>

#include "engine/cuda/kernels/kept_keys.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
/// Number of keys of one warp whose loads are in flight at one time.
constexpr int kKeysAhead = 4;

/// Elements of a head in a warp: a lane holds elements 2 * (lane + 32 i) and the next, i < kPairs.
template <int kPairs>
struct LaneVector {
  float value[2 * kPairs];

  __device__ static LaneVector load(const std::uint16_t* row, int lane, int head_dim) {
    LaneVector out;
#pragma unroll
    for (int i = 0; i < kPairs; ++i) {
      const int at = 2 * (lane + kWarp * i);
      const std::uint32_t pair =
          at < head_dim ? *reinterpret_cast<const std::uint32_t*>(row + at) : 0;
      out.value[2 * i] = low_half(pair);
      out.value[2 * i + 1] = high_half(pair);
    }
    return out;
  }
  [[nodiscard]] __device__ float dot(const LaneVector& other) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) sum = fmaf(value[i], other.value[i], sum);
    return lane_sum(sum);
  }
};

struct KeptSizes {
  std::int64_t first, window;
  int heads, group, head_dim, value_dim;
  std::int64_t q_stride, key_stride, value_stride;
  float scale, softcap;
  const std::uint16_t* sinks;
};

/// State of a running softmax: weighted sum of values, sum of weights, and the largest score so
/// far.
template <int kPairs>
struct Running {
  LaneVector<kPairs> sum{};
  float weights = 0;
  float most = -INFINITY;

  __device__ void shrink_to(float other) {
    const float larger = fmaxf(most, other);
    const float factor = most == larger ? 1.0f : expf(most - larger);
#pragma unroll
    for (int i = 0; i < 2 * kPairs; ++i) sum.value[i] *= factor;
    weights *= factor;
    most = larger;
  }
};

/// Block (i, h) computes query i of head h: warp w takes keys w * kKeysAhead and on, then those
/// kWarps * kKeysAhead further on; warps are added up in order.
template <int kPairs>
__global__ void __launch_bounds__(kThreads)
    attend(KeptSizes sizes, const std::uint16_t* q, const std::uint16_t* keys,
           const std::uint16_t* values, std::uint16_t* out) {
  __shared__ float sums[kWarps][2 * kPairs * kWarp];
  __shared__ float weights[kWarps], mosts[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int head = static_cast<int>(blockIdx.y);
  const std::int64_t query = sizes.first + blockIdx.x;
  const std::int64_t low = max(std::int64_t{0}, query + 1 - sizes.window);
  const std::int64_t kv_head = head / sizes.group;
  const std::uint16_t* q_row =
      q + blockIdx.x * sizes.q_stride + static_cast<std::int64_t>(head) * sizes.head_dim;
  const auto mine = LaneVector<kPairs>::load(q_row, lane, sizes.head_dim);
  Running<kPairs> running;
  for (std::int64_t begin = low + warp * kKeysAhead; begin <= query; begin += kWarps * kKeysAhead) {
    float scores[kKeysAhead];
#pragma unroll
    for (int i = 0; i < kKeysAhead; ++i) {
      // Lanes stay together: for a key beyond the query's own, that one is read and left out.
      const std::int64_t key = min(begin + i, query);
      const auto row = LaneVector<kPairs>::load(
          keys + key * sizes.key_stride + kv_head * sizes.head_dim, lane, sizes.head_dim);
      float score = sizes.scale * mine.dot(row);
      if (sizes.softcap != 0) score = sizes.softcap * tanhf(score / sizes.softcap);
      scores[i] = begin + i <= query ? score : -INFINITY;
    }
    float most = scores[0];
#pragma unroll
    for (int i = 1; i < kKeysAhead; ++i) most = fmaxf(most, scores[i]);
    running.shrink_to(most);
#pragma unroll
    for (int i = 0; i < kKeysAhead; ++i) {
      const std::int64_t key = min(begin + i, query);
      const auto row = LaneVector<kPairs>::load(
          values + key * sizes.value_stride + kv_head * sizes.value_dim, lane, sizes.value_dim);
      const float weight = expf(scores[i] - running.most);
      running.weights += weight;
#pragma unroll
      for (int j = 0; j < 2 * kPairs; ++j) {
        running.sum.value[j] = fmaf(weight, row.value[j], running.sum.value[j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kPairs; ++i) {
    const int at = 2 * (lane + kWarp * i);
    sums[warp][at] = running.sum.value[2 * i];
    sums[warp][at + 1] = running.sum.value[2 * i + 1];
  }
  if (lane == 0) {
    weights[warp] = running.weights;
    mosts[warp] = running.most;
  }
  __syncthreads();
  float most = mosts[0];
  for (int w = 1; w < kWarps; ++w) most = fmaxf(most, mosts[w]);
  float total = 0;
  for (int w = 0; w < kWarps; ++w) total += weights[w] * expf(mosts[w] - most);
  if (sizes.sinks != nullptr) {
    // A sink far above all keys leaves them a share of zero.
    total += expf(fminf(low_half(sizes.sinks[head]) - most, 80.0f));
  }
  std::uint16_t* to =
      out + (static_cast<std::int64_t>(blockIdx.x) * sizes.heads + head) * sizes.value_dim;
  for (int at = 2 * static_cast<int>(threadIdx.x); at < sizes.value_dim; at += 2 * kThreads) {
    float low_sum = 0, high_sum = 0;
    for (int w = 0; w < kWarps; ++w) {
      const float factor = expf(mosts[w] - most);
      low_sum = fmaf(factor, sums[w][at], low_sum);
      high_sum = fmaf(factor, sums[w][at + 1], high_sum);
    }
    *reinterpret_cast<std::uint32_t*>(to + at) = pack(low_sum / total, high_sum / total);
  }
}

/// One warp per row of weights.
__global__ void __launch_bounds__(kThreads)
    multiply_row(const std::uint16_t* weights, const std::uint16_t* x, std::int64_t vocab,
                 int hidden, float* logits) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const std::int64_t row =
      static_cast<std::int64_t>(blockIdx.x) * kWarps + static_cast<int>(threadIdx.x) / kWarp;
  if (row >= vocab) return;
  float sum = 0;
  for (int at = lane * kVector; at < hidden; at += kWarp * kVector) {
    const Eight a = Eight::unpack(load_once(weights, row * hidden + at));
    const Eight b = Eight::unpack(load(x, at));
#pragma unroll
    for (int i = 0; i < kVector; ++i) sum = fmaf(a.value[i], b.value[i], sum);
  }
  sum = lane_sum(sum);
  if (lane == 0) logits[row] = sum;
}

}  // namespace

void attend_kept(CUstream_st* stream, const KeptKeysShape& shape, const std::uint16_t* q,
                 std::int64_t q_stride, const std::uint16_t* keys, const std::uint16_t* values,
                 std::uint16_t* out) {
  check(shape.count > 0 && shape.count <= INT32_MAX && shape.first >= 0, "there are queries");
  check(shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0 && shape.heads <= UINT16_MAX,
        "heads of queries share heads of keys evenly");
  check(shape.head_dim % 2 == 0 && shape.head_dim > 0 && shape.head_dim <= 512,
        "the head dimension is even and at most 512");
  const std::int64_t value_dim = shape.value_dim.value_or(shape.head_dim);
  check(value_dim % 2 == 0 && value_dim > 0 && value_dim <= shape.head_dim,
        "a head of values has an even number of elements, no more than one of keys");
  const KeptSizes sizes{
      .first = shape.first,
      .window = shape.window.value_or(shape.first + shape.count),
      .heads = static_cast<int>(shape.heads),
      .group = static_cast<int>(shape.heads / shape.kv_heads),
      .head_dim = static_cast<int>(shape.head_dim),
      .value_dim = static_cast<int>(value_dim),
      .q_stride = q_stride,
      .key_stride = shape.kv_heads * shape.head_dim,
      .value_stride = shape.kv_heads * value_dim,
      .scale = shape.scale.value_or(1.0F / std::sqrt(static_cast<float>(shape.head_dim))),
      .softcap = shape.softcap,
      .sinks = shape.sinks};
  const dim3 grid(static_cast<unsigned>(shape.count), static_cast<unsigned>(shape.heads));
  const auto launch = [&](auto kernel) {
    kernel<<<grid, kThreads, 0, stream>>>(sizes, q, keys, values, out);
    check_launch("attend_kept");
  };
  if (shape.head_dim <= 64) return launch(attend<1>);
  if (shape.head_dim <= 128) return launch(attend<2>);
  if (shape.head_dim <= 256) return launch(attend<4>);
  launch(attend<8>);
}

void row_logits(CUstream_st* stream, const std::uint16_t* weights, const std::uint16_t* x,
                std::int64_t vocab, std::int64_t hidden, float* logits) {
  check(vocab > 0 && hidden > 0 && hidden % kVector == 0 && hidden <= INT32_MAX / 2,
        "the width of a row is a multiple of 8");
  check(aligned(weights, x), "the operands of logits are 16-byte aligned");
  multiply_row<<<static_cast<unsigned>(ceil_div(vocab, kWarps)), kThreads, 0, stream>>>(
      weights, x, vocab, static_cast<int>(hidden), logits);
  check_launch("row_logits");
}

}  // namespace sluice::engine::cuda
