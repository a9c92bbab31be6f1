// Time of the gated delta rule's kernels at the sizes of a 9 B hybrid: 16 key heads and 32 value
// heads of 128, 8,192 tokens in one sequence or four. Prints the median of 20 runs after 3, for the
// rule forward and backward, and for what is around it.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <vector>

#include "engine/cuda/kernels/delta_conv.hpp"
#include "engine/cuda/kernels/delta_gates.hpp"
#include "engine/cuda/kernels/delta_rule.hpp"
#include "engine/cuda/kernels/gated_norm.hpp"

namespace {

using namespace sluice::engine::cuda;
namespace planner = sluice::planner;

constexpr planner::DeltaNet kNet{
    .key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};
constexpr std::int64_t kTokens = 8192, kRow = planner::delta_row(kNet);

class Buffer {
 public:
  Buffer(std::int64_t bytes, unsigned pattern) {
    if (cudaMalloc(&memory_, static_cast<std::size_t>(bytes)) != cudaSuccess) return;
    std::vector<std::uint16_t> values(static_cast<std::size_t>(bytes / 2));
    std::uint32_t state = pattern;
    for (auto& value : values) {
      state = state * 1664525u + 1013904223u;
      // bf16 values from 2^-3 to 1 of either sign.
      value = static_cast<std::uint16_t>((state >> 16 & 0x8000) | (0x3e00 + (state >> 16 & 0x17f)));
    }
    cudaMemcpy(memory_, values.data(), static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { cudaFree(memory_); }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(memory_);
  }

 private:
  void* memory_ = nullptr;
};

void measure(cudaStream_t stream, const char* name, const std::function<void()>& run) {
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = -3; i < 20; ++i) {
    cudaEventRecord(begin, stream);
    run();
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    if (i >= 0) times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  std::printf("  %-28s %8.3f ms\n", name, static_cast<double>(times[times.size() / 2]));
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
}

void measure_all(cudaStream_t stream, std::int64_t sequences) {
  const std::int64_t length = kTokens / sequences;
  const planner::DeltaPart part = planner::delta_part(kNet, sequences, length);
  std::printf("%d sequences of %d tokens, parts of %d sequences and %d key heads\n",
              static_cast<int>(sequences), static_cast<int>(length),
              static_cast<int>(part.sequences), static_cast<int>(part.key_heads));
  const Buffer rows(kTokens * kRow * 2, 1), weight(kNet.channels() * 4 * 2, 2), head(4096, 3);
  const Buffer mixed(kTokens * kNet.channels() * 2, 4), d_mixed(kTokens * kNet.channels() * 2, 5);
  const Buffer o(kTokens * kNet.values() * 2, 6), d_o(kTokens * kNet.values() * 2, 7);
  const Buffer d_rows(kTokens * kRow * 2, 8), partials(std::int64_t{256} << 20, 9);
  const std::int64_t gate_bytes = kTokens * kNet.value_heads * 4;
  const Buffer g(gate_bytes, 10), beta(gate_bytes, 11), d_g(gate_bytes, 12), d_beta(gate_bytes, 13);
  const Buffer lengths(kTokens * 2 * kNet.key_heads * 4, 14);
  const Buffer scratch(planner::delta_rule_space(kNet, part, length).total.count(), 15);
  const Buffer gradient(std::int64_t{1} << 20, 16);
  using Half = std::uint16_t;
  const DeltaConvShape conv{kTokens, length, kNet.channels(), kRow};
  Half* rates = rows.as<Half>() + kNet.channels() + kNet.values();
  Half* d_rates = d_rows.as<Half>() + kNet.channels() + kNet.values();
  const DeltaGates gates{
      kTokens,         kNet.value_heads,    kRow, rates, rates + kNet.value_heads,
      head.as<Half>(), head.as<Half>() + 64};
  const DeltaRule rule{.net = kNet,
                       .sequences = sequences,
                       .length = length,
                       .part = part,
                       .starts = nullptr,
                       .mixed = mixed.as<Half>(),
                       .g = g.as<float>(),
                       .beta = beta.as<float>(),
                       .lengths = lengths.as<float>(),
                       .scratch = scratch.as<std::byte>()};
  const GatedNorm norm{kTokens,         kNet.value_heads,
                       kNet.value_dim,  kRow,
                       o.as<Half>(),    rows.as<Half>() + kNet.channels(),
                       head.as<Half>(), 1e-6F};
  measure(stream, "convolution",
          [&] { delta_conv(stream, conv, rows.as<Half>(), weight.as<Half>(), mixed.as<Half>()); });
  measure(stream, "gates", [&] { delta_gates(stream, gates, g.as<float>(), beta.as<float>()); });
  measure(stream, "rule", [&] { delta_rule(stream, rule, o.as<Half>()); });
  measure(stream, "norm", [&] { gated_norm(stream, norm, d_mixed.as<Half>()); });
  measure(stream, "norm, backward", [&] {
    gated_norm_backward(stream, norm, d_o.as<Half>(), d_rows.as<Half>() + kNet.channels(),
                        gradient.as<float>(), Into::overwrite, partials.as<void>());
  });
  measure(stream, "rule, backward", [&] {
    delta_rule_backward(stream, rule, d_o.as<Half>(),
                        {d_mixed.as<Half>(), d_g.as<float>(), d_beta.as<float>()});
  });
  measure(stream, "gates, backward", [&] {
    delta_gates_backward(stream, gates, d_g.as<float>(), d_beta.as<float>(),
                         {d_rates, d_rates + kNet.value_heads, gradient.as<float>(),
                          gradient.as<float>() + 64, Into::overwrite});
  });
  measure(stream, "convolution, backward", [&] {
    delta_conv_backward(stream, conv, rows.as<Half>(), weight.as<Half>(), d_mixed.as<Half>(),
                        d_rows.as<Half>(), gradient.as<float>(), Into::overwrite,
                        partials.as<void>());
  });
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device\n");
    return 0;
  }
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  for (const std::int64_t sequences : {1, 4}) measure_all(stream, sequences);
  cudaStreamDestroy(stream);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
