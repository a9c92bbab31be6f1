// What benchmarks on a CUDA device share: memory with random values, and times of what is enqueued.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "engine/cuda/runtime/check.hpp"
#include "sim/units.hpp"

namespace sluice::engine::bench {

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
using DeviceMemory = std::unique_ptr<void, FreeDevice>;

inline DeviceMemory allocate(Bytes bytes) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, static_cast<std::size_t>(bytes.count())), "device memory");
  return DeviceMemory(memory);
}

/// Device array of `count` elements that repeat `pattern`.
template <class T>
DeviceMemory repeated(const std::vector<T>& pattern, std::int64_t count) {
  const auto size = static_cast<std::int64_t>(sizeof(T));
  const auto length = static_cast<std::int64_t>(pattern.size());
  DeviceMemory memory = allocate(Bytes(size * count));
  for (std::int64_t begin = 0; begin < count; begin += length) {
    check_cuda(cudaMemcpy(static_cast<T*>(memory.get()) + begin, pattern.data(),
                          static_cast<std::size_t>(size * std::min(length, count - begin)),
                          cudaMemcpyHostToDevice),
               "a copy to the device");
  }
  return memory;
}

/// A fixed pattern of a million standard normal values.
inline std::vector<float> normal_values() {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> values(std::size_t{1} << 20U);
  for (float& value : values) value = normal(random);
  return values;
}

/// Device array of `count` bf16 elements that repeat a million standard normal values.
inline DeviceMemory random_bf16(std::int64_t count) {
  std::vector<std::uint16_t> pattern;
  pattern.reserve(std::size_t{1} << 20U);
  for (const float value : normal_values()) {
    pattern.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U));
  }
  return repeated(pattern, count);
}

/// Times of one pass: on the device, and on the host to enqueue it.
struct Times {
  Seconds device, host;
};

/// Mean times over `repeats` runs, after one that is not counted.
template <class Work>
Times time_of(cudaStream_t stream, int repeats, const Work& work) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check_cuda(cudaEventCreate(&begin), "an event");
  check_cuda(cudaEventCreate(&end), "an event");
  work();
  check_cuda(cudaEventRecord(begin, stream), "an event");
  const auto host_begin = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) work();
  const Seconds host = std::chrono::steady_clock::now() - host_begin;
  check_cuda(cudaEventRecord(end, stream), "an event");
  check_cuda(cudaEventSynchronize(end), "the kernels");
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "an event");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return {.device = Seconds(std::chrono::duration<double, std::milli>(milliseconds)) / repeats,
          .host = host / repeats};
}

}  // namespace sluice::engine::bench
