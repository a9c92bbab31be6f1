#include "engine/cuda/kernels/documents.hpp"
#include "engine/cuda/kernels/vector.cuh"
#include "sim/error.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

/// One block per sequence, kThreads tokens at a time: a running maximum of marked positions.
__global__ void __launch_bounds__(kThreads)
    find_starts(const std::int32_t* ids, int length, std::int32_t* starts) {
  __shared__ int warp_last[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * length;
  int before = 0;  // Start of the last document before this tile.
  for (int begin = 0; begin < length; begin += kThreads) {
    const int token = begin + static_cast<int>(threadIdx.x);
    int start = token < length && ids[row + token] < 0 ? token : 0;
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const int other = __shfl_up_sync(kAllLanes, start, static_cast<unsigned>(distance));
      if (lane >= distance) start = max(start, other);
    }
    if (lane == kWarp - 1) warp_last[warp] = start;
    __syncthreads();
    int last = before;
    for (int w = 0; w < kWarps; ++w) {
      if (w == warp) start = max(start, last);
      last = max(last, warp_last[w]);
    }
    if (token < length) starts[row + token] = start;
    before = last;
    __syncthreads();
  }
}

__global__ void __launch_bounds__(kThreads)
    limit_to_window(const std::int32_t* starts, int tokens, int length, int window,
                    std::int32_t* first) {
  const int token = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (token < tokens) first[token] = max(starts[token], token % length + 1 - window);
}

}  // namespace

void document_starts(CUstream_st* stream, const std::int32_t* ids, std::int64_t sequences,
                     std::int64_t length, std::int32_t* starts) {
  check(sequences > 0 && length > 0 && sequences <= INT32_MAX && length <= INT32_MAX - kThreads,
        "documents lie in sequences of tokens");
  find_starts<<<static_cast<unsigned>(sequences), kThreads, 0, stream>>>(
      ids, static_cast<int>(length), starts);
  check_launch("document_starts");
}

void first_keys_in_window(CUstream_st* stream, const std::int32_t* starts, std::int64_t tokens,
                          std::int64_t length, std::int64_t window, std::int32_t* first) {
  check(tokens > 0 && tokens <= INT32_MAX - kThreads && length > 0 && window > 0 &&
            window <= INT32_MAX,
        "windows lie in sequences of tokens");
  limit_to_window<<<static_cast<unsigned>(ceil_div(tokens, kThreads)), kThreads, 0, stream>>>(
      starts, static_cast<int>(tokens), static_cast<int>(length), static_cast<int>(window), first);
  check_launch("first_keys_in_window");
}

}  // namespace sluice::engine::cuda
