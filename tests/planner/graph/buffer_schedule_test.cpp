#include "planner/graph/buffer_schedule.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

std::vector<WeightUse> forward_then_backward(std::int64_t blocks) {
  std::vector<WeightUse> uses;
  for (std::int64_t b = 0; b < blocks; ++b) uses.push_back({b});
  for (std::int64_t b = blocks - 1; b >= 0; --b) uses.push_back({b});
  return uses;
}

std::int64_t loads(const std::vector<SlotAssignment>& assigned) {
  std::int64_t count = 0;
  for (const auto& each : assigned) count += each.loads ? 1 : 0;
  return count;
}

TEST(BufferSchedule, OneBufferReloadsEverythingButTheTurn) {
  // 4 blocks: 8 uses; only the last forward block is still there when backward begins with it.
  EXPECT_EQ(loads(assign_slots(forward_then_backward(4), 1, 0)), 7);
}

TEST(BufferSchedule, EveryExtraBufferSavesOneLoadAtTheTurn) {
  for (std::int64_t slots = 1; slots <= 4; ++slots) {
    EXPECT_EQ(loads(assign_slots(forward_then_backward(4), slots, 0)), 8 - slots);
  }
}

TEST(BufferSchedule, AsManyBuffersAsBlocksLoadEachBlockOnce) {
  EXPECT_EQ(loads(assign_slots(forward_then_backward(6), 6, 5)), 6);
}

TEST(BufferSchedule, ASlotIsNeverTakenFromTheWindow) {
  for (std::int64_t slots = 1; slots <= 5; ++slots) {
    for (std::int64_t depth = 0; depth < slots; ++depth) {
      const auto uses = forward_then_backward(7);
      const auto assigned = assign_slots(uses, slots, depth);
      std::vector<std::int64_t> holder(static_cast<std::size_t>(slots), -1);
      std::vector<std::int64_t> last(static_cast<std::size_t>(slots), -100);
      for (std::size_t i = 0; i < uses.size(); ++i) {
        const auto slot = static_cast<std::size_t>(assigned[i].slot);
        if (assigned[i].loads) {
          EXPECT_LT(last[slot], static_cast<std::int64_t>(i) - depth);
          holder[slot] = uses[i].block;
        }
        EXPECT_EQ(holder[slot], uses[i].block) << "a use finds its own block";
        last[slot] = static_cast<std::int64_t>(i);
      }
    }
  }
}

TEST(BufferSchedule, NothingToAssign) { EXPECT_TRUE(assign_slots({}, 2, 1).empty()); }

}  // namespace
}  // namespace sluice::planner
