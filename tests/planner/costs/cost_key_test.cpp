#include "planner/costs/cost_key.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "planner/costs/calibration.hpp"
#include "planner/costs/cost_model.hpp"
#include "planner/costs/lane_boost.hpp"
#include "planner/costs/lane_interference.hpp"
#include "planner/costs/launch_delay.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

TEST(CostKind, IsWhatTheFirstWordsOfANameSay) {
  const Job job = test::tiny_job();
  const std::vector<std::pair<CostKey, CostKind>> keys{
      {compute_key(job, Pass::block_forward, 1), CostKind::pass},
      {compute_key(job, Pass::norm, 0), CostKind::pass},
      {slice_key(job, Pass::sum_ranks, 4, 1000), CostKind::pass},
      {compute_key(job, Pass::block_update, 1), CostKind::block_update},
      {cpu_update_key(job, 4, 1000), CostKind::cpu_update},
      {device_update_key(job, 1000), CostKind::device_update},
      {copy_key(CopyDirection::h2d, Bytes(1000)), CostKind::copy_h2d},
      {copy_key(CopyDirection::d2h, Bytes(1000)), CostKind::copy_d2h},
      {copy_key(CopyDirection::disk_read, Bytes(1000)), CostKind::copy_disk_read},
      {copy_key(CopyDirection::disk_write, Bytes(1000)), CostKind::copy_disk_write},
      {collective_key(Collective::gather, 4, Bytes(1000)), CostKind::collective},
      {interference_key(LaneKind::cpu, LaneKind::h2d, 4), CostKind::interference},
      {launch_delay_key(CopyDirection::d2h), CostKind::launch_delay},
      {hand_off_key(CopyDirection::h2d), CostKind::hand_off},
      {BoostKeys().lasting_window, CostKind::boost},
      {CostKey("launch/84"), CostKind::launch},
      {CostKey("data/1024"), CostKind::data},
      {CostKey("host_pass/round/t4/1000"), CostKind::host_pass},
      {CostKey("copy/h2d"), CostKind::copy_h2d},
      {CostKey("update/cpu/t14"), CostKind::cpu_update},
      {CostKey("grads"), CostKind::pass},
      {CostKey(), CostKind::pass}};
  for (const auto& [key, kind] : keys) {
    EXPECT_EQ(key.kind(), kind) << key.name();
    const CostKey again(key.name());
    EXPECT_EQ(again, key);
    EXPECT_EQ(again.kind(), kind) << key.name();
    EXPECT_TRUE(key.name().starts_with(first_words(kind))) << key.name();
  }
}

TEST(CostKey, HasTheNameThatFilesOfEarlierVersionsGaveIt) {
  const Job job = test::tiny_job();
  EXPECT_EQ(cpu_update_key(job, 4, 1000).name(), "update/cpu/t4/1000");
  EXPECT_EQ(device_update_key(job, 1000).name(), "update/device/1000");
  EXPECT_EQ(copy_key(CopyDirection::disk_read, Bytes(1000)).name(), "copy/disk_read/1000");
  EXPECT_EQ(collective_key(Collective::gather, 4, Bytes(1000)).name(), "fabric/gather/4/1000");
  EXPECT_EQ(interference_key(LaneKind::cpu, LaneKind::h2d, 4).name(), "interference/cpu/h2d/4");
  EXPECT_EQ(interference_key(LaneKind::h2d, LaneKind::d2h).name(), "interference/h2d/d2h");
  EXPECT_EQ(launch_delay_key(CopyDirection::d2h).name(), "launch_delay/d2h");
  EXPECT_EQ(hand_off_key(CopyDirection::h2d).name(), "hand_off/h2d");
  EXPECT_EQ(BoostKeys().gain.name(), "boost/compute/gain");
}

TEST(CostKey, IsOrderedByItsName) {
  EXPECT_LT(CostKey("boost/compute/gain"), CostKey("copy/h2d"));
  EXPECT_LT(CostKey("copy/h2d/1"), CostKey("data/1"));
  EXPECT_LT(CostKey("data/1"), CostKey("forward/block"));
}

TEST(SlowingLane, IsTheSecondOfAnInterferenceAndThatOfALaunchDelay) {
  EXPECT_EQ(slowing_lane(interference_key(LaneKind::cpu, LaneKind::h2d, 4)), LaneKind::h2d);
  EXPECT_EQ(slowing_lane(interference_key(LaneKind::d2h, LaneKind::compute)), LaneKind::compute);
  EXPECT_EQ(slowing_lane(launch_delay_key(CopyDirection::d2h)), LaneKind::d2h);
  EXPECT_EQ(slowing_lane(CostKey("interference/cpu")), std::nullopt);
  EXPECT_EQ(slowing_lane(CostKey("copy/h2d")), std::nullopt);
}

}  // namespace
}  // namespace sluice::planner
