#include "profiler/probe/cuda/resources.hpp"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "engine/cuda/runtime/check.hpp"
#include "engine/optimizer/master_weights.hpp"

namespace sluice::profiler {

using engine::check_cuda;

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  return Stream(stream);
}

Event make_event(EventUse use) {
  cudaEvent_t event = nullptr;
  const unsigned flags =
      use == EventUse::timing ? cudaEventDefault : cudaEventBlockingSync | cudaEventDisableTiming;
  check_cuda(cudaEventCreateWithFlags(&event, flags), "an event");
  return Event(event);
}

DeviceMemory allocate_device(Bytes bytes) {
  void* memory = nullptr;
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes.count(), 256));
  check_cuda(cudaMalloc(&memory, size),
             std::to_string(size) + " bytes of device memory for the probe");
  return DeviceMemory(memory);
}

DeviceMemory random_bf16(std::int64_t count, float scale) {
  // An odd number, so that rows of a matrix made of their repetition differ.
  constexpr std::int64_t kDrawn = (std::int64_t{4} << 20) + 13;
  static const std::vector<float> normals = [] {
    std::vector<float> drawn(static_cast<std::size_t>(kDrawn));
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    for (float& value : drawn) value = normal(random);
    return drawn;
  }();
  std::vector<std::uint16_t> drawn(static_cast<std::size_t>(std::min(kDrawn, count)));
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    drawn[i] = engine::float_to_bf16(scale * normals[i]);
  }
  DeviceMemory memory = allocate_device(Bytes(2 * count));
  auto* halves = static_cast<std::uint16_t*>(memory.get());
  check_cuda(cudaMemcpy(halves, drawn.data(), 2 * drawn.size(), cudaMemcpyHostToDevice),
             "random operands");
  for (auto filled = static_cast<std::int64_t>(drawn.size()); filled < count;) {
    const std::int64_t more = std::min(filled, count - filled);
    check_cuda(cudaMemcpy(halves + filled, halves, static_cast<std::size_t>(2 * more),
                          cudaMemcpyDeviceToDevice),
               "random operands");
    filled += more;
  }
  // Copies within the device return before they end, on a stream that others do not wait for.
  check_cuda(cudaDeviceSynchronize(), "random operands");
  return memory;
}

Seconds elapsed(cudaEvent_t begin, cudaEvent_t end) {
  wait(end);
  float milliseconds = 0;
  check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "a time");
  return Seconds(1e-3 * static_cast<double>(milliseconds));
}

void record(cudaEvent_t event, cudaStream_t stream) {
  check_cuda(cudaEventRecord(event, stream), "recording an event");
}

void wait(cudaEvent_t event) { check_cuda(cudaEventSynchronize(event), "waiting for an event"); }

void wait(cudaStream_t stream) {
  check_cuda(cudaStreamSynchronize(stream), "waiting for a stream");
}

DeviceRoom device_room() {
  std::size_t free = 0;
  std::size_t total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "the device's free memory");
  return {Bytes(static_cast<std::int64_t>(free)), Bytes(static_cast<std::int64_t>(total))};
}

}  // namespace sluice::profiler
