// Scaling over hosts: more network is never slower, and one host is the base.
#include "planner/explanation/hosts_scaling.hpp"

#include <gtest/gtest.h>

#include "planner/requests/run_arguments.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Request run_of(const std::string& nic) {
  RunConfig config = parse_run({"--model", "qwen2.5-0.5b", "--seq-len", "1024", "--batch-size",
                                "32", "--machine", "2x-h100-sxm", "--devices", "2"})
                         .config;
  if (!nic.empty()) config.machine_overrides["nic"] = nic;
  return resolve(config);
}

TEST(HostsScaling, BeginsAtOneHostAndGrowsWithTheNic) {
  const HostsScaling scaling = hosts_scaling(run_of("100GbE"), {.hosts = {1, 2}});
  ASSERT_EQ(scaling.strong.size(), 2U);
  ASSERT_EQ(scaling.weak.size(), 2U);
  EXPECT_DOUBLE_EQ(scaling.strong[0].efficiency, 1);
  EXPECT_EQ(scaling.strong[0].step, scaling.weak[0].step);
  EXPECT_EQ(scaling.strong[1].devices, 4);
  EXPECT_EQ(scaling.strong[1].batch_size, 32);
  EXPECT_EQ(scaling.weak[1].batch_size, 64);
  // Twice the tokens hide more of what the network moves.
  ASSERT_TRUE(scaling.strong[1].step && scaling.weak[1].step);
  EXPECT_GT(scaling.weak[1].efficiency, scaling.strong[1].efficiency);
  EXPECT_DOUBLE_EQ(scaling.strong[1].efficiency,
                   scaling.strong[1].tokens_per_s / (2 * scaling.strong[0].tokens_per_s));
  ASSERT_EQ(scaling.nics.size(), 8U);
  for (std::size_t i = 1; i < scaling.nics.size(); ++i) {
    EXPECT_LE(scaling.nics[i].step, scaling.nics[i - 1].step) << scaling.nics[i].nic;
  }
  ASSERT_TRUE(scaling.pays_from);
  EXPECT_LE(*scaling.pays_from, scaling.scales_from.value_or(scaling.most_tried));
  const NicPoint* any = nic_that_does(scaling, 0.5);
  ASSERT_NE(any, nullptr);
  EXPECT_GE(any->speed, 1);
  EXPECT_EQ(nic_that_does(scaling, 1.5), nullptr);
}

TEST(HostsScaling, SaysWhereHostsCannotShareSteps) {
  const HostsScaling scaling = hosts_scaling(run_of("100GbE"), {.hosts = {1, 3}});
  EXPECT_TRUE(scaling.strong[0].step);
  EXPECT_FALSE(scaling.strong[1].step);  // Six devices have no equal parts of 32 micro-batches.
  EXPECT_FALSE(to_json_text(scaling).empty());
}

TEST(HostsScaling, AsksForTheNic) {
  EXPECT_THROW((void)hosts_scaling(run_of(""), {.hosts = {1, 2}}), BadRequest);
}

}  // namespace
}  // namespace sluice::planner
