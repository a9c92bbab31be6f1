// cuDNN's causal attention in TFLOP/s, its scratch memory, and the device memory that the library
// itself takes. Forward counts 4 s^2 d h b / 2 FLOPs, backward 2.5 times as many.
//   attention_cuda_bench              sequences of 1024 to 32768 tokens
//   attention_cuda_bench LENGTH...    one of LENGTH tokens, heads of Qwen2.5-7B (one group of them
//                                     beyond 131072 tokens), in blocks of queries
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "engine/cuda/attention/attention.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "experiments/cuda_kernels/cuda_bench.hpp"

namespace sluice::engine {
namespace {

using namespace bench;

Bytes free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "the device's free memory");
  return Bytes(static_cast<std::int64_t>(free));
}

struct Case {
  const char* name;
  AttentionOptions options;
};

void measure(const Cudnn& cudnn, AttentionShape shape, const Case& variant, cudaStream_t stream) {
  const int repeats = shape.length > 65536 ? 2 : 20;
  shape.qkv_row = (shape.heads + 2 * shape.kv_heads) * shape.head_dim;
  shape.out_row = shape.heads * shape.head_dim;
  const std::int64_t tokens = shape.sequences * shape.length;
  const std::int64_t k_column = shape.heads * shape.head_dim;
  const std::int64_t v_column = k_column + shape.kv_heads * shape.head_dim;
  const DeviceMemory qkv = random_bf16(tokens * shape.qkv_row);
  const DeviceMemory d_out = random_bf16(tokens * shape.out_row);
  const DeviceMemory out = allocate(Bytes(2 * tokens * shape.out_row));
  const DeviceMemory d_qkv = allocate(Bytes(2 * tokens * shape.qkv_row));
  const DeviceMemory lse = allocate(Bytes(4 * tokens * shape.heads));

  const Bytes free_before = free_memory();
  const auto build_begin = std::chrono::steady_clock::now();
  const CudaAttention attention(cudnn, shape, variant.options);
  const Seconds building = std::chrono::steady_clock::now() - build_begin;
  const Bytes free_built = free_memory();
  const DeviceMemory scratch =
      allocate(std::max(attention.forward_workspace(), attention.backward_workspace()));
  const Bytes free_ready = free_memory();
  const auto column = [](const DeviceMemory& memory, std::int64_t element) {
    return static_cast<void*>(static_cast<std::uint16_t*>(memory.get()) + element);
  };
  const Times forward = time_of(stream, repeats, [&] {
    attention.forward(stream, qkv.get(), column(qkv, k_column), column(qkv, v_column), out.get(),
                      static_cast<float*>(lse.get()), scratch.get());
  });
  const Times backward = time_of(stream, repeats, [&] {
    attention.backward(stream, qkv.get(), column(qkv, k_column), column(qkv, v_column), out.get(),
                       static_cast<const float*>(lse.get()), d_out.get(), d_qkv.get(),
                       column(d_qkv, k_column), column(d_qkv, v_column), scratch.get());
  });
  const double flops = 4.0 * static_cast<double>(shape.length) * static_cast<double>(shape.length) *
                       static_cast<double>(shape.head_dim * shape.heads * shape.sequences) / 2;
  const auto show = [flops](const char* pass, Times times, double factor) {
    std::printf("  %s %8.1f us %6.1f TFLOP/s, issued in %4.1f us\n", pass,
                times.device.count() * 1e6, factor * flops / times.device.count() / 1e12,
                times.host.count() * 1e6);
  };
  const auto count = [](std::int64_t number) { return static_cast<long long>(number); };
  std::printf("(%lld, %lld, %lld/%lld, %lld)%s %s: %.100s\n", count(shape.sequences),
              count(shape.length), count(shape.heads), count(shape.kv_heads), count(shape.head_dim),
              shape.window ? (" window " + std::to_string(*shape.window)).c_str() : "",
              variant.name, attention.engines().c_str());
  show("forward ", forward, 1);
  show("backward", backward, 2.5);
  std::printf(
      "  workspace %lld and %lld B; taken by plans %lld B in %.0f ms, by first runs %lld B\n",
      count(attention.forward_workspace().count()), count(attention.backward_workspace().count()),
      count((free_before - free_built).count()), building.count() * 1e3,
      count((free_ready - free_memory()).count()));
}

/// Blocks of so many queries of one head, one and two in flight.
void measure_blocks(const Cudnn& cudnn, std::int64_t length, cudaStream_t stream) {
  const std::int64_t groups = length > 131'072 ? 1 : 4;
  const AttentionShape shape{
      .sequences = 1, .length = length, .heads = 7 * groups, .kv_heads = groups, .head_dim = 128};
  measure(cudnn, shape, {.name = "fixed, as jobs do", .options = {}}, stream);
  for (const std::int64_t queries : {2048, 4096, 8192, 12288, 16384}) {
    AttentionShape block = shape;
    block.heads = block.kv_heads = 1;
    block.queries = queries;
    if (queries * length > std::numeric_limits<std::int32_t>::max()) continue;  // No run has these.
    const Bytes limit = planner::attention_backward_run_bound(block, GradientOrder::fixed);
    for (const std::int64_t in_flight : {1, 2}) {
      const std::string name = "fixed, " + std::to_string(queries) + " queries, " +
                               std::to_string(in_flight) + " in flight";
      measure(cudnn, shape,
              {.name = name.c_str(), .options = {.limits = {.run = limit, .in_flight = in_flight}}},
              stream);
    }
  }
}

void run(const std::vector<std::int64_t>& lengths) {
  check_cuda(cudaSetDevice(0), "the device");
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  const Bytes free_before = free_memory();
  const Cudnn cudnn;
  std::printf("cuDNN %zu; its handle takes %lld B of device memory\n", cudnn.version(),
              static_cast<long long>((free_before - free_memory()).count()));
  for (const std::int64_t length : lengths) measure_blocks(cudnn, length, stream);
  if (!lengths.empty()) return;
  const AttentionShape shapes[] = {
      {.sequences = 4, .length = 1024, .heads = 28, .kv_heads = 4, .head_dim = 128},
      {.sequences = 16, .length = 1024, .heads = 28, .kv_heads = 4, .head_dim = 128},
      {.sequences = 1, .length = 8192, .heads = 32, .kv_heads = 8, .head_dim = 128},
      {.sequences = 1, .length = 8192, .heads = 32, .kv_heads = 8, .head_dim = 128, .window = 4096},
      {.sequences = 1, .length = 16384, .heads = 32, .kv_heads = 8, .head_dim = 128},
      {.sequences = 1, .length = 32768, .heads = 32, .kv_heads = 8, .head_dim = 128}};
  const Case cases[] = {
      {.name = "fixed, 20 GB a run", .options = {.limits = {.run = 20'000_MB, .in_flight = 1}}},
      {.name = "fixed, 2.4 GB a run", .options = {.limits = {.run = 2'400_MB, .in_flight = 1}}},
      {.name = "fixed, two of 1.2 GB", .options = {.limits = {.run = 1'200_MB}}},
      {.name = "fixed, 1.2 GB a run", .options = {.limits = {.run = 1'200_MB, .in_flight = 1}}},
      {.name = "fixed, as jobs do", .options = {}},
      {.name = "fixed, 0.6 GB a run", .options = {.limits = {.run = 600_MB, .in_flight = 1}}},
      {.name = "any",
       .options = {.order = GradientOrder::any, .limits = {.run = 20'000_MB, .in_flight = 1}}}};
  for (const AttentionShape& shape : shapes) {
    for (const Case& variant : cases) {
      const AttentionOptions& options = variant.options;
      if (planner::attention_backward_workspace_bound(shape, options.order, options.limits) <
          25'000_MB) {
        measure(cudnn, shape, variant, stream);
      }
    }
  }
  cudaStreamDestroy(stream);
}

}  // namespace
}  // namespace sluice::engine

int main(int argc, char** argv) {
  std::vector<std::int64_t> lengths;
  for (int i = 1; i < argc; ++i) lengths.push_back(std::atoll(argv[i]));
  try {
    const sluice::engine::cuda::DeviceQuery query = sluice::engine::cuda::query_devices();
    if (query.devices.empty()) {
      std::printf("skipped: no CUDA device: %s\n", query.reason.value_or("").c_str());
      return 0;
    }
    std::printf("%s\n", query.devices.front().name.c_str());
    sluice::engine::run(lengths);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attention_cuda_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
