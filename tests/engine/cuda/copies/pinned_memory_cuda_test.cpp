// Pinned memory: what is kept between devices, memory of many mappings, and copies at a given rate.
#include <chrono>
#include <numeric>

#include "engine/cuda/copies/pinned_memory.hpp"
#include "engine/cuda/copies/stream_pacer.hpp"
#include "engine/memory/even_memory.hpp"
#include "tests/engine/cuda/kernel_test.hpp"

namespace sluice::engine::cuda::testing {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;

class PinnedMemoryOnGpu : public KernelTest {};

Bytes bytes_of(std::size_t count) { return Bytes(static_cast<std::int64_t>(count)); }

void fill(std::span<std::byte> bytes) {
  auto* words = reinterpret_cast<std::uint32_t*>(bytes.data());
  std::iota(words, words + bytes.size() / sizeof(std::uint32_t), 7U);
}

TEST_F(PinnedMemoryOnGpu, WhatIsKeptIsTakenOverZeroed) {
  const std::byte* first = nullptr;
  const KeptPinnedMemory keeper(bytes_of(64 * kMiB));
  ASSERT_GE(KeptPinnedMemory::held(), bytes_of(64 * kMiB));
  {
    const PinnedMemory memory(bytes_of(48 * kMiB), "test");
    ASSERT_TRUE(memory.pinned());
    EXPECT_EQ(KeptPinnedMemory::held(), Bytes(0));
    first = memory.bytes().data();
    fill(memory.bytes());
  }
  const PinnedMemory again(bytes_of(64 * kMiB), "test");
  EXPECT_EQ(again.bytes().data(), first);
  EXPECT_TRUE(std::ranges::all_of(again.bytes(), [](std::byte b) { return b == std::byte{0}; }));
  const PinnedMemory other(bytes_of(kMiB), "test");  // Nothing is kept now, so this is new memory.
  EXPECT_TRUE(other.pinned());
  EXPECT_NE(other.bytes().data(), first);
}

TEST_F(PinnedMemoryOnGpu, NothingIsKeptWithoutAKeeper) {
  { const PinnedMemory memory(bytes_of(8 * kMiB), "test"); }
  EXPECT_EQ(KeptPinnedMemory::held(), Bytes(0));
}

/// Every second piece has been moved: the driver pins many mappings as one range, and copies cross
/// them.
TEST_F(PinnedMemoryOnGpu, MemoryOfManyMappingsIsPinnedAsOne) {
  int piece = 0;
  const EvenMemory even(24 * 16 * kMiB, "test", [&piece](std::span<const std::byte>) {
    return Seconds(++piece > 12 ? 300e-9 : 120e-9);
  });
  ASSERT_TRUE(even.kinds());
  const PinnedMemory memory(even.bytes());
  ASSERT_TRUE(memory.pinned()) << memory.refusal();
  fill(memory.bytes());
  std::vector<std::byte> expected(memory.bytes().begin(), memory.bytes().end());
  void* device = nullptr;
  succeed(cudaMalloc(&device, expected.size()), "cudaMalloc");
  succeed(cudaMemcpyAsync(device, memory.bytes().data(), expected.size(), cudaMemcpyHostToDevice),
          "a copy across pieces");
  succeed(cudaDeviceSynchronize(), "the device");
  std::ranges::fill(memory.bytes(), std::byte{0});
  succeed(cudaMemcpyAsync(memory.bytes().data(), device, expected.size(), cudaMemcpyDeviceToHost),
          "a copy back");
  succeed(cudaDeviceSynchronize(), "the device");
  succeed(cudaFree(device), "cudaFree");
  EXPECT_TRUE(std::ranges::equal(memory.bytes(), expected));
}

TEST_F(PinnedMemoryOnGpu, APacedCopyArrivesAndTakesNoLessThanItsPace) {
  const PinnedMemory memory(bytes_of(64 * kMiB), "test");
  fill(memory.bytes());
  DeviceArray<std::byte> device(64 * kMiB);
  cudaStream_t stream = nullptr;
  succeed(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  const double rate = 1e9;
  {
    StreamPacer pacer(stream, BytesPerSecond(rate));
    const auto start = std::chrono::steady_clock::now();
    pacer.copy(device.data(), memory.bytes().data(), memory.bytes().size());
    succeed(cudaStreamSynchronize(stream), "the stream");
    const Seconds took(std::chrono::steady_clock::now() - start);
    // A copy never ends early; how late a thread wakes up depends on the system.
    EXPECT_GE(took.count(), static_cast<double>(memory.bytes().size()) / rate * 0.999);
  }
  succeed(cudaStreamDestroy(stream), "the stream");
  EXPECT_TRUE(std::ranges::equal(device.values(), memory.bytes()));
  EXPECT_TRUE(device.intact());
}

}  // namespace
}  // namespace sluice::engine::cuda::testing
