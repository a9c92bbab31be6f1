// Machines with several GPUs of one host: what connects them, and what they share.
#include <gtest/gtest.h>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/fabrics.hpp"
#include "planner/machines/profile_file.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

TEST(SeveralGpus, ANumberBeforeANameMakesThemShareItsHost) {
  const MachineProfile one = find_machine("rtx-pro-6000"), four = find_machine("4xrtx-pro-6000");
  EXPECT_EQ(four.name, "4x-rtx-pro-6000");
  EXPECT_EQ(four.devices, 4);
  EXPECT_EQ(four.host.value, one.host.value);
  EXPECT_EQ(four.h2d.value, one.h2d.value);  // 64 of 128 lanes
  ASSERT_TRUE(four.fabric);
  EXPECT_EQ(four.fabric->path, FabricPath::pcie);
  EXPECT_EQ(four.fabric->gather.front().rate.source, Source::measured);
  EXPECT_FALSE(one.devices || one.fabric);
  EXPECT_EQ(profile_hash(profile_from_json(to_json_text(four), "four")), profile_hash(four));
}

TEST(SeveralGpus, EveryGpuThatIsSoldOnBoardsForSeveralHasAFabric) {
  for (const GpuPart& gpu : gpu_parts()) {
    const bool own_host = gpu.link == HostLink::c2c || gpu.link == HostLink::c2c_shared ||
                          gpu.link == HostLink::unified;
    const bool amd = gpu.architecture.starts_with("gfx");
    EXPECT_EQ(gpu.fabric.empty(), own_host || amd) << gpu.name;
    if (gpu.fabric.empty()) continue;
    const BytesPerSecond none(0);
    BytesPerSecond rate = none;
    for (const std::int64_t gpus : {2, 3, 4, 8}) {
      const Fabric fabric = fabric_of(gpu, gpus, BytesPerSecond(55e9));
      EXPECT_GT(fabric.gather.front().rate.deviation, none) << gpu.name;
      // More GPUs never make a fabric's largest collectives faster for each by over 5 %.
      EXPECT_TRUE(rate == none || fabric.gather.back().rate.value <= 1.05 * rate) << gpu.name;
      rate = fabric.gather.back().rate.value;
    }
  }
}

TEST(SeveralGpus, DesktopsHaveLanesForFew) {
  const BytesPerSecond one = find_machine("rtx-4090").h2d.value;
  // 24 lanes, 4 of them the SSD's.
  EXPECT_EQ(find_machine("2x-rtx-4090").h2d.value, one / 2);
  EXPECT_EQ(find_machine("5x-rtx-4090").h2d.value, one / 4);
  EXPECT_NE(refusal([] {
              (void)find_machine("6x-rtx-4090");
            }).find("ryzen-9-9950x has 20 PCIe lanes for them, fewer than 4 each"),
            std::string::npos);
  EXPECT_EQ(find_machine("2x-rtx-4090 + threadripper-9970x + 4x64 GiB DDR5-5600").h2d.value, one);
}

TEST(SeveralGpus, ServersHaveASocketForEachFour) {
  const MachineProfile four = find_machine("4x-h100-sxm"), eight = find_machine("8x-h100-sxm");
  EXPECT_EQ(four.cores.value, 64);
  EXPECT_EQ(eight.cores.value, 128);
  EXPECT_EQ(eight.dram.value, 2 * four.dram.value);
  EXPECT_EQ(eight.update.at(96).value, 2 * four.update.at(48).value);
  // A memory kit of one's own goes into that host.
  const MachineProfile more = find_machine("4x-h100-sxm + 16x64 GiB DDR5-4800");
  EXPECT_EQ(more.name, "4x-h100-sxm + 16x64 GiB DDR5-4800");
  EXPECT_EQ(more.cores.value, 64);
  EXPECT_GT(more.host.value, 1.9 * four.host.value);
}

TEST(SeveralGpus, PartsAreReplacedBehindTheNumber) {
  EXPECT_EQ(
      composed_text("2x-rtx-4090", {.gpu = {}, .cpu = {}, .ram = "4x64 GiB DDR5-5600", .ssd = {}}),
      "2x-rtx-4090 + 4x64 GiB DDR5-5600");
}

TEST(SeveralGpus, WhatBringsItsOwnHostIsRefused) {
  EXPECT_NE(refusal([] { (void)find_machine("2x-gh200"); }).find("several gh200 in one host"),
            std::string::npos);
  EXPECT_NE(refusal([] { (void)find_machine("2x-here"); }).find("a profile file states its own"),
            std::string::npos);
}

}  // namespace
}  // namespace sluice::planner
