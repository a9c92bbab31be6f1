// Names of clusters, and NICs as people name them.
#include "planner/catalogue/cluster.hpp"

#include <gtest/gtest.h>

#include "planner/catalogue/catalogue.hpp"
#include "planner/machines/profile_file.hpp"
#include "planner/requests/run_arguments.hpp"
#include "planner/runs/run_machine.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

TEST(Cluster, IsNamedByItsHostsAndNics) {
  const auto cluster = cluster_named("2 hosts of 8x-h100-sxm + 8x400GbE");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->hosts, 2);
  EXPECT_EQ(cluster->machine, "8x-h100-sxm");
  EXPECT_EQ(cluster->nic, "8x400GbE");
  EXPECT_EQ(to_text(*cluster), "2 hosts of 8x-h100-sxm + 8x400GbE");
  EXPECT_EQ(gpus_named("2 hosts of 8x-h100-sxm + 8x400GbE"), 16);
  EXPECT_EQ(gpus_named("3 hosts of h200"), 3);
  EXPECT_EQ(gpus_named("4x-rtx-4090"), 4);
}

TEST(Cluster, LeavesOtherPartsToItsHosts) {
  const auto cluster = cluster_named("4 hosts of 2x-rtx-4090 + threadripper-9970x");
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->machine, "2x-rtx-4090 + threadripper-9970x");
  EXPECT_EQ(cluster->nic, "");
  for (const char* name : {"8x-h100-sxm", "hosts of h200", "0 hosts of h200", "2 hosts of "}) {
    EXPECT_FALSE(cluster_named(name)) << name;
  }
}

TEST(Nics, CarryNinetySixHundredthsOfTheirBits) {
  EXPECT_DOUBLE_EQ(parse_nic("400GbE", "nic").count(), 48e9);
  EXPECT_DOUBLE_EQ(parse_nic("8x400GbE", "nic").count(), 8 * 48e9);
  EXPECT_DOUBLE_EQ(parse_nic("2 x 100 Gbit/s", "nic").count(), 2 * 12e9);
  EXPECT_DOUBLE_EQ(parse_nic("47 GB/s", "nic").count(), 47e9);
  for (const char* text : {"fast", "100", "0x100GbE", "8y400GbE"}) {
    EXPECT_THROW((void)parse_nic(text, "nic"), BadRequest) << text;
  }
}

TEST(Cluster, IsTheMachineOfAllItsHosts) {
  const MachineProfile one = find_machine("4x-h100-sxm");
  const MachineProfile two = find_machine("2 hosts of 4x-h100-sxm + 400GbE");
  EXPECT_EQ(two.devices, 8);
  EXPECT_DOUBLE_EQ(two.host.value, 2 * one.host.value);
  ASSERT_TRUE(two.fabric && two.fabric->levels);
  EXPECT_EQ(two.fabric->levels->hosts, 2);
  EXPECT_THROW((void)find_machine("2 hosts of 4x-h100-sxm"), BadRequest);
}

std::vector<std::string> with_sizes(std::vector<std::string> words) {
  words.insert(words.end(), {"--model", "qwen2.5-1.5b", "--seq-len", "64", "--batch-size", "32"});
  return words;
}

TEST(ClusterOfARun, IsWhatItsFlagsStateApart) {
  const RunConfig named =
      parse_run(with_sizes({"--machine", "2 hosts of 4x-h100-sxm + 400GbE"})).config;
  const RunConfig stated =
      parse_run(with_sizes({"--machine", "4x-h100-sxm", "--hosts", "2", "--nic", "400GbE"})).config;
  for (const RunConfig& each : {named, stated}) {
    EXPECT_EQ(each.machine, "4x-h100-sxm");
    EXPECT_EQ(each.devices, 8);
    EXPECT_EQ(to_machine(each).profile.name, "2 hosts of 4x-h100-sxm");
  }
  EXPECT_EQ(profile_hash(to_machine(named).profile), profile_hash(to_machine(stated).profile));
  const RunConfig more = parse_run(with_sizes({"--machine", "2 hosts of 4x-h100-sxm + 400GbE",
                                               "--hosts", "4", "--devices", "16"}))
                             .config;
  EXPECT_EQ(to_machine(more).profile.devices, 16);
}

}  // namespace
}  // namespace sluice::planner
