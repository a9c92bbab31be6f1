#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "profiler/cupti/record_buffers.hpp"

namespace sluice::profiler::cupti {
namespace {

TEST(RecordBuffers, LendsUpToTheMostAndCountsWhatItRefuses) {
  RecordBuffers buffers(64, 1, 2);
  std::byte* first = buffers.lend();
  std::byte* second = buffers.lend();
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 8, 0u);
  EXPECT_EQ(buffers.lend(), nullptr);
  EXPECT_EQ(buffers.take_refusals(), 1u);
  EXPECT_EQ(buffers.take_refusals(), 0u);
}

TEST(RecordBuffers, KeepsWhatIsGivenBackOnlyWhileTold) {
  RecordBuffers buffers(64, 1, 1);
  buffers.give_back(buffers.lend(), 24);
  EXPECT_TRUE(buffers.take().empty());
  buffers.keep(true);
  std::byte* buffer = buffers.lend();
  ASSERT_NE(buffer, nullptr);
  buffers.give_back(buffer, 24);
  EXPECT_EQ(buffers.lend(), nullptr);  // Full until it is read.
  const auto filled = buffers.take();
  ASSERT_EQ(filled.size(), 1u);
  EXPECT_EQ(filled[0].data, buffer);
  EXPECT_EQ(filled[0].bytes, 24u);
  EXPECT_TRUE(buffers.take().empty());
  buffers.reuse(filled[0]);
  EXPECT_EQ(buffers.lend(), buffer);
}

TEST(RecordBuffers, AnEmptyBufferIsFreeAtOnce) {
  RecordBuffers buffers(64, 1, 1);
  buffers.keep(true);
  buffers.give_back(buffers.lend(), 0);
  EXPECT_TRUE(buffers.take().empty());
  EXPECT_NE(buffers.lend(), nullptr);
}

TEST(RecordBuffers, NoBufferIsLentTwiceAtOnce) {
  RecordBuffers buffers(64, 2, 8);
  buffers.keep(true);
  std::atomic<bool> twice{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        std::byte* buffer = buffers.lend();
        if (buffer == nullptr) continue;
        if (buffer[0] != std::byte{0}) twice = true;
        buffer[0] = std::byte{1};
        buffer[0] = std::byte{0};
        buffers.give_back(buffer, 1);
        for (const auto& filled : buffers.take()) buffers.reuse(filled);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(twice.load());
}

}  // namespace
}  // namespace sluice::profiler::cupti
