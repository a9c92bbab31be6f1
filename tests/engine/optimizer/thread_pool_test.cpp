#include "engine/optimizer/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace sluice::engine {
namespace {

TEST(ThreadPool, RunsEveryTileOnceForAnyNumberOfThreads) {
  ThreadPool pool(3);
  EXPECT_EQ(pool.threads(), 3);
  for (const int threads : {1, 2, 3, 8}) {
    for (const std::int64_t tiles : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tiles));
      auto tile = [&](std::int64_t i) { ++runs[static_cast<std::size_t>(i)]; };
      pool.run(tiles, threads, tile);
      for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadPool, ManyShortCallsEachEndBeforeTheNextBegins) {
  ThreadPool pool(2);
  std::vector<std::int64_t> sums(64, 0);
  for (int call = 0; call < 500; ++call) {
    auto tile = [&](std::int64_t i) { sums[static_cast<std::size_t>(i)] += call; };
    pool.run(64, 2, tile);
  }
  for (const std::int64_t sum : sums) EXPECT_EQ(sum, 499 * 500 / 2);
}

TEST(ThreadPool, OneThreadNeedsNoWorkerAndIdlePoolsEnd) {
  const ThreadPool one(1);
  EXPECT_EQ(one.threads(), 1);
  const ThreadPool idle(4);
  EXPECT_EQ(idle.threads(), 4);
}

}  // namespace
}  // namespace sluice::engine
