// Shared parts of the tests of memory-bound kernels: guarded device arrays, random bf16 values, and
// comparison with a reference in double.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/cuda/runtime/device_query.hpp"
#include "engine/optimizer/master_weights.hpp"
#include "sim/error.hpp"
#include "sim/units.hpp"

namespace sluice::engine::cuda::testing {

inline void succeed(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw EnvironmentError(std::string(what) + ": " + cudaGetErrorString(status));
  }
}

/// Device memory between guard bytes; unwritten elements are NaN.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::int64_t count) : count_(static_cast<std::size_t>(count)) {
    void* memory = nullptr;
    succeed(cudaMalloc(&memory, bytes() + 2 * kGuard), "cudaMalloc");
    memory_ = static_cast<unsigned char*>(memory);
    succeed(cudaMemset(memory_, kMark, bytes() + 2 * kGuard), "cudaMemset");
    succeed(cudaMemset(data(), 0xff, bytes()), "cudaMemset");
    settle();
  }
  explicit DeviceArray(const std::vector<T>& values)
      : DeviceArray(static_cast<std::int64_t>(values.size())) {
    succeed(cudaMemcpy(data(), values.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    settle();
  }
  DeviceArray(const DeviceArray&) = delete;  // Owns device memory.
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(memory_); }

  [[nodiscard]] T* data() const { return reinterpret_cast<T*>(memory_ + kGuard); }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> copy(count_);
    succeed(cudaMemcpy(copy.data(), data(), bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return copy;
  }
  /// Whether the guard bytes are unchanged.
  [[nodiscard]] bool intact() const {
    std::vector<unsigned char> all(bytes() + 2 * kGuard);
    succeed(cudaMemcpy(all.data(), memory_, all.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    const auto is_mark = [](unsigned char byte) { return byte == kMark; };
    return std::all_of(all.begin(), all.begin() + kGuard, is_mark) &&
           std::all_of(all.end() - kGuard, all.end(), is_mark);
  }

 private:
  /// Waits for the device, because tests run on non-blocking streams, which do not wait for copies
  /// from pageable memory.
  static void settle() { succeed(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

  static constexpr std::size_t kGuard = 256;
  static constexpr unsigned char kMark = 0xa5;
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
  std::size_t count_;
  unsigned char* memory_ = nullptr;
};

using Halves = std::vector<std::uint16_t>;  ///< bf16

inline float value_of(std::uint16_t bf16) { return bf16_to_float(bf16); }
inline float value_of(float value) { return value; }

/// Rounds to the nearest bf16, ties to even.
inline std::uint16_t to_bf16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

class RandomValues {
 public:
  explicit RandomValues(unsigned seed) : engine_(seed) {}
  Halves halves(std::int64_t count, float spread = 1, float mean = 0) {
    Halves values(static_cast<std::size_t>(count));
    for (auto& value : values) value = to_bf16(mean + spread * normal());
    return values;
  }
  std::vector<float> floats(std::int64_t count, float spread = 1) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = spread * normal();
    return values;
  }
  std::vector<std::int32_t> below(std::int64_t count, int limit) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = static_cast<std::int32_t>(engine_() % unsigned(limit));
    return values;
  }

 private:
  /// Nearly normal random number, as a sum of uniform ones, which is fast.
  float normal() {
    const std::uint32_t bits = static_cast<std::uint32_t>(engine_());
    const auto a = static_cast<float>(bits & 0xffff) + static_cast<float>(bits >> 16);
    return (a / 65535.0F - 1) * 2.45F;
  }
  std::minstd_rand engine_;
};

/// Relative error of one rounding to bf16, 2^-8, with a little more for the fp32 arithmetic before
/// it.
inline constexpr double kOneRounding = 1.01 / 256;

/// Expects |actual - expected| <= tolerance * (|expected| + magnitude) for each element.
/// `magnitude`: size of the terms that were added, where their sum may cancel.
template <class T>
void expect_close(const std::vector<T>& actual, const std::vector<double>& expected,
                  double tolerance, double magnitude, const char* name) {
  ASSERT_EQ(actual.size(), expected.size());
  double worst = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double difference = std::abs(static_cast<double>(value_of(actual[i])) - expected[i]);
    const double error = difference == 0 ? 0 : difference / (std::abs(expected[i]) + magnitude);
    if (!(error <= worst)) {
      worst = error;
      where = i;
      if (std::isnan(error)) break;
    }
  }
  ::testing::Test::RecordProperty(name, std::to_string(worst / tolerance) + " of the tolerance");
  EXPECT_LE(worst, tolerance) << name << " at " << where << ": " << value_of(actual[where])
                              << " instead of " << expected[where];
}

class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const DeviceQuery query = query_devices();
    if (query.devices.empty()) GTEST_SKIP() << "no CUDA device: " << *query.reason;
    succeed(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }
  void finish() { succeed(cudaStreamSynchronize(stream_), "a kernel failed"); }

  cudaStream_t stream_ = nullptr;
};

}  // namespace sluice::engine::cuda::testing
