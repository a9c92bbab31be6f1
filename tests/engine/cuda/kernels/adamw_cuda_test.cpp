// The device's AdamW against the host's, bit for bit. Needs a CUDA device.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "engine/cuda/kernels/adamw.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/optimizer/adamw.hpp"
#include "engine/optimizer/master_weights.hpp"

namespace sluice::engine::cuda {
namespace {

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
template <class T>
using OnDevice = std::unique_ptr<T[], FreeDevice>;

/// A copy of `values` in device memory; null if the device refuses.
template <class T>
OnDevice<T> on_device(const std::vector<T>& values) {
  void* memory = nullptr;
  const std::size_t bytes = values.size() * sizeof(T);
  if (cudaMalloc(&memory, bytes) != cudaSuccess) return nullptr;
  OnDevice<T> copy(static_cast<T*>(memory));
  return cudaMemcpy(memory, values.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess
             ? std::move(copy)
             : nullptr;
}

struct State {
  std::vector<std::uint16_t> high, low;
  std::vector<float> m, v, gradient;
};

/// Random master weights, moments and gradients over twelve orders of magnitude, zeros and
/// denormals among them.
State random_state(std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> exponent(-12.0F, 0.0F);
  State state;
  for (std::size_t i = 0; i < count; ++i) {
    const float scale = i % 97 == 0 ? 1e-39F : std::pow(10.0F, exponent(random));
    const SplitMaster halves = split_master(normal(random) * scale);
    state.high.push_back(halves.high);
    state.low.push_back(halves.low);
    state.m.push_back(i % 31 == 0 ? 0.0F : normal(random) * scale);
    state.v.push_back(i % 31 == 0 ? 0.0F : std::abs(normal(random)) * scale * scale);
    state.gradient.push_back(i % 53 == 0 ? 0.0F : normal(random) * scale);
  }
  return state;
}

AdamWOperands operands_of(State& state) {
  return {.high = state.high.data(),
          .low = state.low.data(),
          .m = state.m.data(),
          .v = state.v.data(),
          .gradient = state.gradient.data()};
}

template <class T>
bool same_bits(const std::vector<T>& host, const OnDevice<T>& device) {
  std::vector<T> copy(host.size());
  const std::size_t bytes = host.size() * sizeof(T);
  return cudaMemcpy(copy.data(), device.get(), bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
         std::memcmp(host.data(), copy.data(), bytes) == 0;
}

TEST(CudaDeviceQuery, StatesTheRuntimeAndEitherDevicesOrAReason) {
  const DeviceQuery query = query_devices();
  ASSERT_TRUE(query.runtime.has_value());
  EXPECT_GE(*query.runtime, (Version{12, 0}));
  EXPECT_EQ(query.devices.empty(), query.reason.has_value());
  for (const Device& device : query.devices) EXPECT_GT(device.memory, Bytes(0));
}

TEST(CudaAdamW, TenStepsOfWhichOneChangesNothingGiveTheHostsBits) {
  const DeviceQuery query = query_devices();
  if (query.devices.empty()) GTEST_SKIP() << "no CUDA device: " << *query.reason;
  constexpr std::size_t kCount = 300'001;
  constexpr std::size_t kDecaying = 200'000;
  State host = random_state(kCount);
  const auto high = on_device(host.high);
  const auto low = on_device(host.low);
  const auto m = on_device(host.m);
  const auto v = on_device(host.v);
  const auto gradient = on_device(host.gradient);
  ASSERT_TRUE(high && low && m && v && gradient);
  const AdamWOperands device{
      .high = high.get(), .low = low.get(), .m = m.get(), .v = v.get(), .gradient = gradient.get()};
  const SharedMemory shared(sizeof(AdamWStep));
  auto* shared_step = new (shared.data()) AdamWStep;
  const AdamWPath& reference = adamw_paths().back();
  planner::AdamWSettings settings;
  for (int step = 1; step <= 10; ++step) {
    AdamWStep scalars = adamw_step(settings, 1e-3, step, clip_scale(settings, 3.0));
    scalars.changes_nothing = step == 6;
    if (!scalars.changes_nothing) {
      reference.update(operands_of(host), 0, kDecaying, true, scalars);
      reference.update(operands_of(host), kDecaying, kCount, false, scalars);
    }
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    *shared_step = scalars;
    adamw_update(device, 0, kDecaying, true, shared_step, stream);
    adamw_update(device, kDecaying, kCount, false, shared_step, stream);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_TRUE(same_bits(host.high, high));
  EXPECT_TRUE(same_bits(host.low, low));
  EXPECT_TRUE(same_bits(host.m, m));
  EXPECT_TRUE(same_bits(host.v, v));
}

}  // namespace
}  // namespace sluice::engine::cuda
