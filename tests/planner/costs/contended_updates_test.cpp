#include "planner/costs/contended_updates.hpp"

#include <gtest/gtest.h>

#include "planner/costs/cost_key.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_profile;
using test::tiny_job;

/// A machine on which updates would take 56 MB/s of a memory that gives 60, and copies 10 in each
/// direction.
MachineProfile shared_memory() {
  MachineProfile profile = round_profile(DeviceKind::cuda);
  profile.interference.clear();
  profile.update = {{1, test::measured(2e6)}};
  profile.cores = test::measured(1);
  profile.dram = test::measured(60e6);
  profile.h2d_dram = profile.d2h_dram = test::measured(1);
  profile.update_dram = test::measured(28);
  profile.h2d_weight = profile.d2h_weight = test::measured(100);
  return profile;
}

TEST(ContendedUpdates, CopiesTakeOfTheMemoryWhatUpdatesThenLack) {
  const Job job = tiny_job();
  const ProfileCostModel costs(shared_memory(), {});
  const auto rates = shared_rates(job, costs, fastest_rates(job, costs));
  ASSERT_TRUE(rates.has_value());
  int one = 0, both = 0;
  for (const SharedRates& each : *rates) {
    EXPECT_LE(each.update, 1);
    if (each.h2d > 0 && each.d2h == 0) {
      EXPECT_NEAR(each.h2d, 1, 1e-9);
      EXPECT_NEAR(each.update, 50.0 / 56, 1e-9);
      ++one;
    }
    if (each.h2d > 0 && each.d2h > 0) {
      EXPECT_NEAR(each.update, 40.0 / 56, 1e-9);
      ++both;
    }
  }
  EXPECT_EQ(one, 2);  // The device computes, or does not.
  EXPECT_EQ(both, 2);
}

TEST(ContendedUpdates, WhereSizesDifferNothingIsSaid) {
  const Job job = tiny_job();
  CalibrationSample slow;
  slow.key = copy_key(CopyDirection::h2d, Bytes(4096));
  slow.value = 1;
  const ProfileCostModel costs(shared_memory(), {{slow.key, slow}});
  EXPECT_FALSE(shared_rates(job, costs, fastest_rates(job, costs)).has_value());
}

TEST(ContendedUpdates, OnTheHostPassesTakeOfTheCoresToo) {
  const Job job = tiny_job();
  MachineProfile profile = shared_memory();
  profile.device = DeviceKind::host;
  const ProfileCostModel costs(std::move(profile), {});
  EXPECT_FALSE(shared_rates(job, costs, fastest_rates(job, costs)).has_value());
}

}  // namespace
}  // namespace sluice::planner
