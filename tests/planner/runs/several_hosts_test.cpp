// Several hosts as one machine: what they share, what crosses their network, and what is refused.
#include "planner/runs/several_hosts.hpp"

#include <gtest/gtest.h>

#include "planner/costs/fabric_rates.hpp"
#include "planner/runs/run_machine.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// Bytes beyond the curves, whose last points hold there.
constexpr std::int64_t kCollective = std::int64_t{1} << 50;

RunConfig hosts_config(const std::string& machine, std::int64_t devices,
                       std::map<std::string, std::string> values) {
  RunConfig config;
  config.machine = machine;
  config.devices = devices;
  config.machine_overrides = std::move(values);
  return config;
}

MachineProfile hosts_profile(std::int64_t devices, std::map<std::string, std::string> values) {
  return to_machine(hosts_config("4x-h100-sxm", devices, std::move(values))).profile;
}

double curve_rate(const MachineProfile& profile, Collective operation) {
  return collective_rate(*profile.fabric, operation, Bytes(kCollective)).value.count();
}

std::string refused_line(const RunConfig& config) {
  try {
    (void)to_machine(config);
  } catch (const BadRequest& refused) {
    return refused.what();
  }
  return "accepted";
}

TEST(SeveralHosts, ShareWhatEachOfThemHas) {
  const MachineProfile one = hosts_profile(4, {});
  const MachineProfile two = hosts_profile(8, {{"hosts", "2"}, {"nic", "40 GB/s"}});
  EXPECT_EQ(two.devices, 8);
  EXPECT_EQ(two.name, "2 hosts of " + one.name);
  EXPECT_DOUBLE_EQ(two.hbm.value, one.hbm.value);
  EXPECT_DOUBLE_EQ(two.host.value, 2 * one.host.value);
  EXPECT_EQ(two.dram.value, 2 * one.dram.value);
  EXPECT_EQ(two.disk_write.value, 2 * one.disk_write.value);
  ASSERT_FALSE(one.update.empty());
  const auto [threads, updates] = *one.update.begin();
  EXPECT_DOUBLE_EQ(two.update.at(2 * threads).value, 2 * updates.value);
}

TEST(SeveralHosts, AreSlowedByWhatEntersThem) {
  const MachineProfile one = hosts_profile(4, {});
  const MachineProfile two = hosts_profile(8, {{"hosts", "2"}, {"nic", "40 GB/s"}});
  // A rank gets 7 runs in a gather: 4 of them enter its host, once, and 7 move inside it.
  EXPECT_DOUBLE_EQ(curve_rate(two, Collective::gather),
                   1 / (1 / curve_rate(one, Collective::gather) + 4.0 / 7 / 40e9));
  // A rank gets 7 parts in an exchange: 3 from inside, and 4 that enter the host for each rank.
  EXPECT_DOUBLE_EQ(curve_rate(two, Collective::exchange),
                   1 / (3.0 / 7 / curve_rate(one, Collective::exchange) + 16.0 / 7 / 40e9));
  EXPECT_GT(two.fabric->latency.value, one.fabric->latency.value);
  // The limit of ever faster networks is less than a fabric of one host would be.
  const MachineProfile fast = hosts_profile(8, {{"hosts", "2"}, {"nic", "900 TB/s"}});
  EXPECT_NEAR(curve_rate(fast, Collective::gather) / curve_rate(one, Collective::gather), 1, 1e-2);
}

TEST(SeveralHosts, SumInsideFirstWhereTheNetworkIsTheSlowerOne) {
  const MachineProfile two = hosts_profile(8, {{"hosts", "2"}, {"nic", "40 GB/s"}});
  ASSERT_TRUE(two.fabric->levels);
  EXPECT_EQ(hosts_that_sum(two, 8), 2);
  EXPECT_DOUBLE_EQ(curve_rate(two, Collective::exchange_inside),
                   curve_rate(hosts_profile(4, {}), Collective::exchange));
  // Four GPUs receive the other host's sums of their slices through one NIC.
  EXPECT_DOUBLE_EQ(curve_rate(two, Collective::exchange_between), 10e9);
  // With slices of S bytes, 2 x 3 S inside and S between take less than the 7 S of one exchange.
  const double inside = curve_rate(two, Collective::exchange_inside);
  EXPECT_LT(6 / inside + 1 / 10e9, 7 / curve_rate(two, Collective::exchange));
  const MachineProfile fast = hosts_profile(8, {{"hosts", "2"}, {"nic", "900 TB/s"}});
  EXPECT_FALSE(fast.fabric->levels);
  EXPECT_EQ(hosts_that_sum(fast, 8), 1);
  // Three of six ranks are no part of the tree, and single ranks have nothing to sum.
  EXPECT_FALSE(hosts_profile(6, {{"hosts", "2"}, {"nic", "40 GB/s"}}).fabric->levels);
  EXPECT_FALSE(hosts_profile(2, {{"hosts", "2"}, {"nic", "40 GB/s"}}).fabric->levels);
}

TEST(SeveralHosts, OfOneGpuEachHaveTheNetworkAlone) {
  const MachineProfile two =
      to_machine(hosts_config("h100-sxm", 2, {{"hosts", "2"}, {"nic", "40 GB/s"}})).profile;
  ASSERT_TRUE(two.fabric);
  EXPECT_DOUBLE_EQ(curve_rate(two, Collective::gather), 40e9);
  EXPECT_DOUBLE_EQ(curve_rate(two, Collective::exchange), 40e9);
  // They share weights, but have nothing to sum first.
  EXPECT_EQ(hosts_of_plans(two, 2, Gather::host), 2);
  EXPECT_EQ(hosts_of_plans(two, 2, Gather::fabric), 1);
}

TEST(SeveralHosts, MultiplyTheRunsLimit) {
  RunConfig config = hosts_config("4x-h100-sxm", 8, {{"hosts", "2"}, {"nic", "40 GB/s"}});
  config.limits.host = Bytes(1000);
  EXPECT_EQ(to_machine(config).host, Bytes(2000));
  config.machine_overrides["hosts"] = "1";
  config.devices = 4;
  EXPECT_EQ(to_machine(config).host, Bytes(1000));
  EXPECT_EQ(to_machine(config).profile.devices, 4);
}

TEST(SeveralHosts, AreRefusedInALine) {
  EXPECT_EQ(refused_line(hosts_config("4x-h100-sxm", 8, {{"hosts", "2"}})),
            "machine.nic: is missing beside machine.hosts 2: set it to a host's NICs, such as "
            "\"8x400GbE\", or to the bytes/s that they reach together, such as \"47 GB/s\"");
  EXPECT_EQ(refused_line(hosts_config("4x-h100-sxm", 3, {{"hosts", "2"}, {"nic", "1 GB/s"}})),
            "devices: 3 of 2 hosts in all: set devices to a multiple of machine.hosts");
  for (const char* bad : {"", "0", "-1", "1.5", "99999999999999999999"}) {
    EXPECT_THROW(check_host_setting("hosts", bad), BadRequest) << bad;
  }
  for (const char* bad : {"", "0 GB/s", "fast"}) {
    EXPECT_THROW(check_host_setting("nic", bad), BadRequest) << bad;
  }
}

}  // namespace
}  // namespace sluice::planner
