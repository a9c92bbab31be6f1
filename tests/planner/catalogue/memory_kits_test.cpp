// Tests of memory modules that give a machine of parts enough host memory.
#include "planner/catalogue/memory_kits.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

TEST(WithMemoryFor, FindsTheSmallestKitThatRunsFastest) {
  const Composition parts = find_composition("rtx-4090").value();  // 2x64 GiB
  // 90 usable GiB: 2x48 = 96 GiB on two slots, 94.1 usable.
  EXPECT_EQ(to_text(with_memory_for(parts, Bytes(90ll << 30))->ram), "2x48 GiB DDR5-5600");
  EXPECT_EQ(to_text(with_memory_for(parts, Bytes(200ll << 30))->ram), "4x64 GiB DDR5-5600");
  EXPECT_FALSE(with_memory_for(parts, Bytes(400ll << 30)).has_value());
}

TEST(WithBoardFor, GoesToTheNarrowestBoardThatHoldsIt) {
  const Composition parts = find_composition("rtx-5090").value();  // AM5: at most 256 GiB.
  const Composition larger = with_board_for(parts, Bytes(480ll << 30)).value();
  EXPECT_EQ(find_cpu(larger.cpu).channels, 4);
  EXPECT_EQ(larger.ram.total(), Bytes(512ll << 30));
  EXPECT_EQ(larger.gpu, "rtx-5090");
  EXPECT_FALSE(with_board_for(parts, Bytes(1ll << 50)).has_value());
}

}  // namespace
}  // namespace sluice::planner
