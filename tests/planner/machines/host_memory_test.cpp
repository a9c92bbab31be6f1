#include "planner/machines/host_memory.hpp"

#include <gtest/gtest.h>

namespace sluice::planner {
namespace {

constexpr Bytes kGib{1ll << 30};

TEST(HostMemory, IsSomeAndNoMoreThanItsLimit) {
  const HostMemory memory = host_memory();
  EXPECT_GT(memory.available, Bytes(1 << 20));
  EXPECT_LE(memory.available, memory.limit.value_or(memory.available));
}

TEST(HostMemory, NothingIsSaidOfWhatIsThere) {
  EXPECT_FALSE(shortage(kGib, {.available = kGib, .limit = {}}));
}

TEST(HostMemory, AShortageNamesBothSizesAndTheFix) {
  const auto found = shortage(3 * kGib, {.available = kGib, .limit = {}});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->certain);
  for (const char* part : {"3.00 GiB", "1.00 GiB", "are available", "--host"}) {
    EXPECT_NE(found->line.find(part), std::string::npos) << found->line;
  }
}

TEST(HostMemory, BeyondTheCgroupIsCertain) {
  const auto found = shortage(3 * kGib, {.available = kGib, .limit = 2 * kGib});
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->certain);
  EXPECT_NE(found->line.find("cgroup"), std::string::npos) << found->line;
}

}  // namespace
}  // namespace sluice::planner
