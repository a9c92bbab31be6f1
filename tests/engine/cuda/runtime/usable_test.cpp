// One clear line for each reason why a GPU cannot be used.
#include "engine/cuda/runtime/usable.hpp"

#include <gtest/gtest.h>

namespace sluice::engine::cuda {
namespace {

DeviceQuery with_device(Version capability) {
  Device device;
  device.name = "A GPU";
  device.compute_capability = capability;
  device.memory = Bytes(1);
  return {.runtime = Version{13, 0}, .driver = Version{13, 0}, .devices = {device}, .reason = {}};
}

void expect_line(const std::optional<std::string>& line, const std::vector<std::string>& parts) {
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->find('\n'), std::string::npos);
  for (const std::string& part : parts) EXPECT_NE(line->find(part), std::string::npos) << *line;
}

TEST(WhyUnusable, NothingIsSaidOfADeviceThatWorks) {
  EXPECT_FALSE(why_unusable(with_device({8, 0})));
  EXPECT_FALSE(why_unusable(with_device({9, 0})));
  DeviceQuery newer = with_device({12, 0});
  newer.driver = Version{14, 1};
  EXPECT_FALSE(why_unusable(newer));
  DeviceQuery minor = with_device({9, 0});
  minor.runtime = Version{13, 1};
  EXPECT_FALSE(why_unusable(minor));
}

TEST(WhyUnusable, AnOldGpuIsNamedWithWhatIsNeeded) {
  expect_line(why_unusable(with_device({7, 5})), {"A GPU", "7.5", "8.0", "--backend host"});
}

TEST(WhyUnusable, AnOldDriverIsToldFromNone) {
  DeviceQuery old{.runtime = Version{13, 0},
                  .driver = Version{12, 4},
                  .devices = {},
                  .reason = "CUDA driver version is insufficient"};
  expect_line(why_unusable(old), {"12.4", "CUDA 13", "update the driver"});
  DeviceQuery none{.runtime = Version{13, 0}, .driver = {}, .devices = {}, .reason = "no driver"};
  expect_line(why_unusable(none), {"no driver", "install the NVIDIA driver"});
}

TEST(WhyUnusable, ADriverWithoutADeviceSaysWhereToLook) {
  DeviceQuery query{.runtime = Version{13, 0},
                    .driver = Version{13, 0},
                    .devices = {},
                    .reason = "no CUDA-capable device is detected"};
  expect_line(why_unusable(query), {"no CUDA-capable", "CUDA_VISIBLE_DEVICES"});
}

TEST(WhyNoMemory, WhatOthersHoldIsNamed) {
  const Bytes gib(std::int64_t{1} << 30);
  EXPECT_FALSE(why_no_memory(gib * 10, gib * 10, gib * 24));
  expect_line(why_no_memory(gib * 20, gib * 10, gib * 24),
              {"20 GiB", "10 GiB of 24 GiB", "14 GiB in use", "nvidia-smi", "--hbm"});
}

}  // namespace
}  // namespace sluice::engine::cuda
