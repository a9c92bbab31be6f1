// The watch over collectives between GPUs, over numbers that a test sets.
#include "engine/cuda/fabric/fabric_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "engine/execution/poll.hpp"

namespace sluice::engine {
namespace {

using std::chrono::milliseconds;

/// Collectives of rank 1 as a test says they are.
struct Collectives {
  std::mutex mutex;
  std::optional<std::string> error;
  std::optional<RankFailure> told;
  std::vector<std::string> tells, ends;
  std::atomic<std::int64_t> enqueued{0}, ended{0};

  template <class Change>
  void set(const Change& change) {
    const std::lock_guard lock(mutex);
    change(*this);
  }
  std::size_t count_of_ends() {
    const std::lock_guard lock(mutex);
    return ends.size();
  }
  WatchedFabric watched() {
    return {.rank = 1,
            .error =
                [this] {
                  const std::lock_guard lock(mutex);
                  return error;
                },
            .told =
                [this] {
                  const std::lock_guard lock(mutex);
                  return told;
                },
            .enqueued = [this] { return enqueued.load(); },
            .ended = [this] { return ended.load(); },
            .tell =
                [this](const std::string& line) {
                  set([&](Collectives& all) { all.tells.push_back(line); });
                },
            .give_up =
                [this](const std::string& line) {
                  set([&](Collectives& all) { all.ends.push_back(line); });
                }};
  }
};

constexpr WatchTimes kPatient{.patience = milliseconds(600'000),
                              .between = milliseconds(1),
                              .settling = milliseconds(600'000)};

TEST(FabricWatch, AnErrorOfNcclIsThisRanksFailure) {
  Collectives all;
  const FabricWatch watch(all.watched(), kPatient);
  EXPECT_FALSE(watch.failure().has_value());
  all.set([](Collectives& each) { each.error = "NCCL: remote process exited"; });
  poll([&] { return all.count_of_ends() == 1; });
  ASSERT_TRUE(watch.failure().has_value());
  EXPECT_EQ(watch.failure()->rank(), 1);
  EXPECT_STREQ(watch.failure()->what(), "rank 1 failed: NCCL: remote process exited");
  EXPECT_EQ(all.tells, (std::vector<std::string>{"NCCL: remote process exited"}));
  EXPECT_EQ(all.ends, (std::vector<std::string>{"rank 1 failed: NCCL: remote process exited"}));
}

TEST(FabricWatch, ACollectiveThatDoesNotEndIsAFailure) {
  Collectives all;
  all.enqueued = 3;
  all.ended = 2;
  const FabricWatch watch(all.watched(),
                          {.patience = milliseconds(20), .between = milliseconds(1)});
  poll([&] { return all.count_of_ends() == 1; });
  EXPECT_NE(std::string(watch.failure()->what()).find("a collective between GPUs did not end"),
            std::string::npos);
}

TEST(FabricWatch, NothingEnqueuedIsNoFailureHoweverLong) {
  Collectives all;
  all.enqueued = all.ended = 2;
  const FabricWatch watch(all.watched(), {.patience = milliseconds(1), .between = milliseconds(1)});
  std::this_thread::sleep_for(milliseconds(30));
  EXPECT_FALSE(watch.failure().has_value());
}

TEST(FabricWatch, AfterAnotherRanksFailureOnlyCollectivesThatStayOpenAreGivenUp) {
  Collectives all;
  all.enqueued = all.ended = 5;
  all.told = rank_failed(0, "the disk is full");
  const FabricWatch settled(
      all.watched(),
      {.patience = milliseconds(600'000), .between = milliseconds(1), .settling = milliseconds(5)});
  std::this_thread::sleep_for(milliseconds(40));
  EXPECT_EQ(all.count_of_ends(), 0U);
  all.enqueued = 6;
  poll([&] { return all.count_of_ends() == 1; });
  EXPECT_EQ(settled.failure()->rank(), 0);
  EXPECT_EQ(all.ends, (std::vector<std::string>{"rank 0 failed: the disk is full"}));
  EXPECT_TRUE(all.tells.empty());
}

}  // namespace
}  // namespace sluice::engine
