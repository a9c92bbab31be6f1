#include "engine/host/paced_copy.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "engine/host/mapped_memory.hpp"

namespace sluice::engine::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

TEST(PacedCopy, TakesLatencyPlusBytesOverBandwidthAndCopiesEverything) {
  // 1 MiB at 64 MiB/s is 1/64 s; with 2 ms of latency 17.6 ms.
  std::vector<std::byte> source(1 << 20), destination(1 << 20);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7);
  const LinkPace pace{BytesPerSecond(64.0 * (1 << 20)), Seconds(2e-3)};
  const auto start = SteadyClock::now();
  paced_copy(source, destination, pace);
  const Seconds took = SteadyClock::now() - start;
  EXPECT_EQ(source, destination);
  // The copy never ends early; how late it ends depends on the load.
  EXPECT_GE(took.count(), 1.0 / 64 + 2e-3);
}

TEST(PacedCopy, OfNothingTakesItsLatency) {
  const auto start = SteadyClock::now();
  paced_copy({}, {}, {BytesPerSecond(1e9), Seconds(1e-3)});
  const Seconds took = SteadyClock::now() - start;
  EXPECT_GE(took.count(), 1e-3);
}

TEST(MappedMemory, IsAlignedAndStartsUnwritten) {
  for (const std::int64_t size : {0, 1, 255, 256, 4096, 100000}) {
    const MappedMemory memory(Bytes(size), "test");
    ASSERT_EQ(static_cast<std::int64_t>(memory.bytes().size()), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.bytes().data()) % 256, 0U);
    for (const std::byte each : memory.bytes()) ASSERT_EQ(each, std::byte{0xFF});
  }
}

TEST(MappedMemoryDeathTest, WritingAWholeTensorPastTheEndEndsTheProcess) {
  const MappedMemory memory(Bytes(4096), "test");
  volatile std::byte* past = memory.bytes().data() + 4096;
  EXPECT_DEATH(*past = std::byte{1}, "");
}

}  // namespace
}  // namespace sluice::engine::test
