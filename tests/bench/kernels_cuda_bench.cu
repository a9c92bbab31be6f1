// Bandwidth of the memory-bound CUDA kernels at the sizes of a 7.6 B model: 4096 tokens, hidden
// 3584, 28 + 2 * 4 heads of 128, intermediate 18944, a vocabulary of 151,936 in chunks of 1024
// tokens. Prints the bytes a kernel must move over its time (median of 20 replays after 3), beside
// a device copy's. Every replay runs on another set of buffers until 1 GiB has passed, so that
// nothing is found in the L2 cache.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "engine/cuda/kernels/activation.hpp"
#include "engine/cuda/kernels/bias.hpp"
#include "engine/cuda/kernels/embedding.hpp"
#include "engine/cuda/kernels/gradient.hpp"
#include "engine/cuda/kernels/loss.hpp"
#include "engine/cuda/kernels/norm.hpp"
#include "engine/cuda/kernels/rope.hpp"

namespace {

using namespace sluice::engine::cuda;

constexpr std::int64_t kTokens = 4096, kHidden = 3584, kWidth = 18944, kVocab = 151936;
constexpr std::int64_t kHeads = 28, kKvHeads = 4, kHeadDim = 128, kChunk = 1024;
constexpr std::int64_t kPacked = (kHeads + 2 * kKvHeads) * kHeadDim;
constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kArena = 12 * 1024 * kMiB;

__global__ void fill(std::uint16_t* data, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < count;
       i += stride) {
    // bf16 values from 2^-7 to 2 of either sign.
    const auto bits = static_cast<std::uint32_t>(i * 2654435761u) >> 8;
    data[i] = static_cast<std::uint16_t>((bits & 0x8000) | (0x3c00 + (bits & 0x3ff)));
  }
}

__global__ void fill_ids(std::int32_t* ids, std::int64_t count) {
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    ids[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(i * 2654435761u) % kVocab);
  }
}

class Bench {
 public:
  Bench() {
    if (cudaMalloc(&arena_, kArena) != cudaSuccess) {
      std::printf("skipped: no CUDA device with 12 GiB free\n");
      return;
    }
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    fill<<<1024, 256, 0, stream_>>>(reinterpret_cast<std::uint16_t*>(arena_), kArena / 2);
    cudaMalloc(&ids_, kTokens * 4);
    fill_ids<<<1, 1024, 0, stream_>>>(ids_, kTokens);
    cudaStreamSynchronize(stream_);
    cudaEventCreate(&begin_);
    cudaEventCreate(&end_);
  }
  [[nodiscard]] bool ready() const { return stream_ != nullptr; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  [[nodiscard]] const std::int32_t* ids() const { return ids_; }

  /// `kernel` gets the first byte of its buffers, which span `span` bytes, and moves `moved`.
  void measure(const char* name, std::int64_t span, std::int64_t moved,
               const std::function<void(std::byte*)>& kernel) {
    span = (span + 255) / 256 * 256;
    const std::int64_t sets =
        std::max(1024 * kMiB / span, std::min<std::int64_t>(kArena / span, 4));
    std::vector<double> microseconds;
    for (int replay = -3; replay < 20; ++replay) {
      // As many back to back as there are sets, so that launches are hidden as in a step.
      cudaEventRecord(begin_, stream_);
      for (std::int64_t set = 0; set < sets; ++set) kernel(arena_ + set * span);
      cudaEventRecord(end_, stream_);
      cudaEventSynchronize(end_);
      float milliseconds = 0;
      cudaEventElapsedTime(&milliseconds, begin_, end_);
      if (replay >= 0) microseconds.push_back(1e3 * milliseconds / static_cast<double>(sets));
    }
    std::nth_element(microseconds.begin(), microseconds.begin() + 10, microseconds.end());
    std::printf("%-28s %9.1f us %9.1f MB %7.0f GB/s\n", name, microseconds[10],
                static_cast<double>(moved) / 1e6,
                static_cast<double>(moved) / microseconds[10] / 1e3);
  }

 private:
  std::byte* arena_ = nullptr;
  std::int32_t* ids_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

std::uint16_t* halves(std::byte* base, std::int64_t offset = 0) {
  return reinterpret_cast<std::uint16_t*>(base) + offset;
}
float* floats(std::byte* base, std::int64_t offset = 0) {
  return reinterpret_cast<float*>(base + offset);
}

void rows(Bench& bench) {
  constexpr std::int64_t kRows = kTokens * kHidden, kBytes = kRows * 2;
  cudaStream_t stream = bench.stream();
  bench.measure("copy 1 GiB", 2048 * kMiB, 2048 * kMiB, [&](std::byte* base) {
    cudaMemcpyAsync(base + 1024 * kMiB, base, 1024 * kMiB, cudaMemcpyDeviceToDevice, stream);
  });
  bench.measure("rms_norm", 2 * kBytes + kMiB, 2 * kBytes, [&](std::byte* base) {
    rms_norm(stream, halves(base), halves(base), 1e-6F, kTokens, kHidden, halves(base, kRows),
             floats(base, 2 * kBytes));
  });
  bench.measure("rms_norm_backward", 3 * kBytes + 8 * kMiB, 4 * kBytes, [&](std::byte* base) {
    rms_norm_backward(stream, halves(base), halves(base), floats(base, 3 * kBytes),
                      halves(base, kRows), kTokens, kHidden,
                      {.d_x = halves(base, 2 * kRows), .d_weight = floats(base, 3 * kBytes + kMiB)},
                      base + 3 * kBytes + 2 * kMiB);
  });
  bench.measure("embed", 2 * kBytes, 2 * kBytes, [&](std::byte* base) {
    embed(stream, halves(base), bench.ids(), kTokens, kHidden, halves(base, kVocab * kHidden));
  });
  bench.measure("embed_backward", kBytes + kVocab * kHidden * 4, 5 * kBytes, [&](std::byte* base) {
    embed_backward(stream, bench.ids(), halves(base), kTokens, kHidden, kVocab,
                   floats(base, kBytes), Into::accumulate);
  });
}

void heads(Bench& bench) {
  constexpr std::int64_t kBytes = kTokens * kPacked * 2;
  constexpr std::int64_t kRotated = kTokens * (kHeads + kKvHeads) * kHeadDim * 2;
  cudaStream_t stream = bench.stream();
  const RopeShape shape{kTokens, 1024, kHeads, kKvHeads, kHeadDim};
  // The tables lie behind the rows; any values do.
  const auto tables = [](std::byte* base) {
    return RopeTables{floats(base, kBytes), floats(base, kBytes + kMiB)};
  };
  const auto view = [](std::byte* base) {
    return QueryKey{halves(base), halves(base, kHeads * kHeadDim), kPacked, kPacked};
  };
  const std::int64_t span = kBytes + 8 * kMiB;
  bench.measure("rope_forward", span, 2 * kRotated, [&](std::byte* base) {
    rope_forward(stream, shape, tables(base), {}, view(base), view(base), {});
  });
  bench.measure("rope_backward", span, 2 * kRotated, [&](std::byte* base) {
    rope_backward(stream, shape, tables(base), {}, {}, view(base));
  });
  bench.measure("rope_forward, normed", span, 2 * kRotated, [&](std::byte* base) {
    rope_forward(stream, shape, tables(base), {halves(base), halves(base), 1e-6F}, view(base),
                 view(base), {floats(base, kBytes + 2 * kMiB), floats(base, kBytes + 3 * kMiB)});
  });
  bench.measure("rope_backward, normed", kBytes + span, 3 * kRotated, [&](std::byte* base) {
    HeadNormGradients norms;
    norms.projected = view(base + span);
    norms.scales = {floats(base, kBytes + 2 * kMiB), floats(base, kBytes + 3 * kMiB)};
    norms.d_q_norm = norms.d_k_norm = floats(base, kBytes + 4 * kMiB);
    norms.workspace = base + kBytes + 5 * kMiB;
    rope_backward(stream, shape, tables(base), {halves(base), halves(base), 1e-6F}, norms,
                  view(base));
  });
  bench.measure("column_sum", span, kBytes, [&](std::byte* base) {
    column_sum(stream, halves(base), kTokens, kPacked, kPacked, floats(base, kBytes),
               Into::accumulate, base + kBytes + kMiB);
  });
}

void wide(Bench& bench) {
  constexpr std::int64_t kElements = kTokens * kWidth, kBytes = kElements * 2;
  cudaStream_t stream = bench.stream();
  const auto gate_up = [](std::byte* base) {
    return GateUp{halves(base), halves(base, kWidth), 2 * kWidth};
  };
  bench.measure("swiglu", 3 * kBytes, 3 * kBytes, [&](std::byte* base) {
    activate(stream, sluice::planner::Activation::silu, gate_up(base), kTokens, kWidth,
             halves(base, 2 * kElements));
  });
  bench.measure("swiglu_backward", 6 * kBytes, 6 * kBytes, [&](std::byte* base) {
    activate_backward(stream, sluice::planner::Activation::silu, gate_up(base),
                      halves(base, 2 * kElements), kTokens, kWidth,
                      {.d_gate = halves(base, 3 * kElements),
                       .d_up = halves(base, 3 * kElements + kWidth),
                       .stride = 2 * kWidth,
                       .activation = halves(base, 5 * kElements)});
  });
  constexpr std::int64_t kLogits = kChunk * kVocab * 2;
  bench.measure("cross_entropy, 1024 tokens", kLogits + kMiB, 2 * kLogits, [&](std::byte* base) {
    cross_entropy(stream, halves(base), bench.ids(), kChunk, kVocab, 1e-5F, floats(base, kLogits));
  });
  bench.measure("cross_entropy_loss", kLogits + kMiB, kLogits, [&](std::byte* base) {
    cross_entropy_loss(stream, halves(base), bench.ids(), kChunk, kVocab, floats(base, kLogits));
  });
}

void gradients(Bench& bench) {
  constexpr std::int64_t kElements = 233'057'792, kBytes = kElements * 4;  // one layer
  cudaStream_t stream = bench.stream();
  bench.measure("norm_blocks", kBytes + kMiB, kBytes, [&](std::byte* base) {
    norm_blocks(stream, floats(base), kElements, reinterpret_cast<double*>(base + kBytes));
  });
  bench.measure("combine", 2 * kBytes, 3 * kBytes, [&](std::byte* base) {
    combine(stream, floats(base), floats(base, kBytes), kElements);
  });
  bench.measure("round_to_bf16", 2 * kBytes, kBytes * 3 / 2, [&](std::byte* base) {
    round_to_bf16(stream, floats(base), kElements, halves(base + kBytes));
  });
  bench.measure("round_to_bf16, in place", kBytes, kBytes * 3 / 2, [&](std::byte* base) {
    round_to_bf16(stream, floats(base), kElements, halves(base));
  });
  bench.measure("fill_zero", kBytes, kBytes,
                [&](std::byte* base) { fill_zero(stream, base, sluice::Bytes(kBytes)); });
}

}  // namespace

int main() {
  Bench bench;
  if (!bench.ready()) return 0;
  rows(bench);
  heads(bench);
  wide(bench);
  gradients(bench);
  const cudaError_t status = cudaDeviceSynchronize();
  if (status != cudaSuccess) std::printf("failed: %s\n", cudaGetErrorString(status));
  return status == cudaSuccess ? 0 : 1;
}
