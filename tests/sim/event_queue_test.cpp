// The queue of the lanes' next events, in each of its two forms.
#include "sim/event_queue.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace sluice::sim {
namespace {

/// Numbers of entries around the count from which on the queue is a tree.
class EventQueueOf : public testing::TestWithParam<std::size_t> {};

TEST_P(EventQueueOf, GivesTheLeastKeyAndItsEntriesInOrder) {
  const std::size_t entries = GetParam();
  EventQueue queue(entries);
  EXPECT_EQ(queue.least(), EventQueue::kNever);
  std::vector<EventQueue::Key> keys(entries, EventQueue::kNever);
  std::mt19937_64 random(entries);
  for (int change = 0; change < 2000; ++change) {
    const auto slot = static_cast<std::uint32_t>(random() % entries);
    // Few different keys, so that entries coincide.
    keys[slot] = random() % 8 == 0 ? EventQueue::kNever
                                   : static_cast<EventQueue::Key>(random() % (2 * entries));
    queue.set(slot, keys[slot]);
    const EventQueue::Key least = *std::min_element(keys.begin(), keys.end());
    ASSERT_EQ(queue.least(), least);
    ASSERT_EQ(queue.key(slot), keys[slot]);
    if (least == EventQueue::kNever) continue;
    std::vector<std::uint32_t> expected, collected;
    for (std::uint32_t i = 0; i < entries; ++i) {
      if (keys[i] == least) expected.push_back(i);
    }
    queue.collect(least, collected);
    ASSERT_EQ(collected, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Entries, EventQueueOf,
                         testing::Values(1, 2, EventQueue::kFlat - 1, EventQueue::kFlat,
                                         EventQueue::kFlat + 1, 33, 100));

TEST(EventQueue, OfNoEntriesHasNoEvent) { EXPECT_EQ(EventQueue(0).least(), EventQueue::kNever); }

}  // namespace
}  // namespace sluice::sim
