#include "engine/cuda/kernels/embedding.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kGatherThreads = 128;

/// Row of a token id, or of ~id where a document begins.
__device__ std::int32_t row_of(std::int32_t id) { return id < 0 ? ~id : id; }

__global__ void __launch_bounds__(kGatherThreads)
    gather(const std::uint16_t* weights, const std::int32_t* ids, int hidden, float factor,
           std::uint16_t* out) {
  const std::int64_t from = static_cast<std::int64_t>(row_of(ids[blockIdx.x])) * hidden;
  const std::int64_t to = static_cast<std::int64_t>(blockIdx.x) * hidden;
#pragma unroll 4
  for (int column = static_cast<int>(threadIdx.x) * 8; column < hidden;
       column += kGatherThreads * 8) {
    Eight values = Eight::unpack(load(weights, from + column));
#pragma unroll
    for (float& value : values.value) value *= factor;
    store(out, to + column, values.packed());
  }
}

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;

/// Whether row `id` occurs among ids[0, end); the same answer in every thread.
__device__ bool occurs_before(const std::int32_t* ids, int end, std::int32_t id) {
  constexpr int kAhead = 4;
  for (int begin = 0; begin < end; begin += kThreads * kAhead) {
    bool found = false;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int token = begin + i * kThreads + static_cast<int>(threadIdx.x);
      found = found || (token < end && row_of(ids[token]) == id);
    }
    if (__syncthreads_or(found) != 0) return true;
  }
  return false;
}

/// Lists, in order, the tokens of [begin, begin + kThreads) whose row is `id`; returns how many.
__device__ int list_occurrences(const std::int32_t* ids, int begin, int tokens, std::int32_t id,
                                int* list, int* warp_counts) {
  const int token = begin + static_cast<int>(threadIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const bool found = token < tokens && row_of(ids[token]) == id;
  const unsigned lanes = __ballot_sync(kAllLanes, found);
  if (threadIdx.x % kWarp == 0) warp_counts[warp] = __popc(lanes);
  __syncthreads();
  int position = __popc(lanes & ((1u << (threadIdx.x % kWarp)) - 1));
  int total = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) position += warp_counts[w];
    total += warp_counts[w];
  }
  if (found) list[position] = token;
  __syncthreads();
  return total;
}

/// Block t does nothing unless token t is the first of its id; then it adds every occurrence.
__global__ void __launch_bounds__(kThreads)
    scatter(const std::int32_t* ids, const std::uint16_t* d_out, int tokens, int hidden,
            float factor, float* gradient) {
  __shared__ int list[kThreads];
  __shared__ int warp_counts[kWarps];
  const int first = static_cast<int>(blockIdx.x);
  const std::int32_t id = row_of(ids[first]);
  if (occurs_before(ids, first, id)) return;
  float* row = gradient + static_cast<std::int64_t>(id) * hidden;
  for (int begin = first; begin < tokens; begin += kThreads) {
    const int count = list_occurrences(ids, begin, tokens, id, list, warp_counts);
    if (count == 0) continue;
    for (int column = static_cast<int>(threadIdx.x) * 8; column < hidden; column += kThreads * 8) {
      auto* out = reinterpret_cast<float4*>(row + column);
      float4 a = out[0];
      float4 b = out[1];
#pragma unroll 4
      for (int i = 0; i < count; ++i) {
        Eight d = Eight::unpack(load(d_out, static_cast<std::int64_t>(list[i]) * hidden + column));
#pragma unroll
        for (float& value : d.value) value = __fmul_rn(factor, value);
        a = make_float4(a.x + d.value[0], a.y + d.value[1], a.z + d.value[2], a.w + d.value[3]);
        b = make_float4(b.x + d.value[4], b.y + d.value[5], b.z + d.value[6], b.w + d.value[7]);
      }
      out[0] = a;
      out[1] = b;
    }
  }
}

void check_sizes(std::int64_t tokens, std::int64_t hidden) {
  check(tokens > 0 && tokens <= INT32_MAX / 2, "an embedding has tokens");
  check(hidden > 0 && hidden % kVector == 0 && hidden <= INT32_MAX / 2,
        "the width of an embedding is a multiple of 8");
}

}  // namespace

void embed(CUstream_st* stream, const std::uint16_t* weights, const std::int32_t* ids,
           std::int64_t tokens, std::int64_t hidden, std::uint16_t* out, float factor) {
  check_sizes(tokens, hidden);
  check(aligned(weights, out), "the operands of an embedding are 16-byte aligned");
  gather<<<static_cast<unsigned>(tokens), kGatherThreads, 0, stream>>>(
      weights, ids, static_cast<int>(hidden), factor, out);
  check_launch("embed");
}

void embed_backward(CUstream_st* stream, const std::int32_t* ids, const std::uint16_t* d_out,
                    std::int64_t tokens, std::int64_t hidden, std::int64_t vocab, float* gradient,
                    Into into, float factor) {
  check_sizes(tokens, hidden);
  check(aligned(d_out, gradient), "the gradients of an embedding are 16-byte aligned");
  if (into == Into::overwrite) {
    fill_zero(stream, gradient, Bytes(vocab * hidden * static_cast<std::int64_t>(sizeof(float))));
  }
  scatter<<<static_cast<unsigned>(tokens), kThreads, 0, stream>>>(
      ids, d_out, static_cast<int>(tokens), static_cast<int>(hidden), factor, gradient);
  check_launch("embed_backward");
}

}  // namespace sluice::engine::cuda
