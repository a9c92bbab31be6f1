#include "planner/search/remedies.hpp"

#include <gtest/gtest.h>

#include "planner/effort/interruption.hpp"
#include "planner/effort/search_settings.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/searching.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::least_hbm;
using test::quick;
using test::round_machine;
using test::run_of;
using test::tiny_job;

TEST(Remedies, EachReallyFits) {
  Job job = tiny_job();
  job.micro_batch = 4;
  job.loss_chunk = 128;
  ResolvedMachine machine = round_machine();
  machine.hbm = least_hbm(job) - Bytes(4096);
  const Predictor predictor(job, machine, {});
  const auto found = search_or_remedy(predictor, {}, quick());
  const auto* infeasible = std::get_if<Infeasible>(&found);
  ASSERT_NE(infeasible, nullptr);
  EXPECT_EQ(infeasible->tier, Tier::hbm);
  EXPECT_GT(infeasible->short_by, Bytes(0));
  ASSERT_FALSE(infeasible->remedies.empty());
  EXPECT_LE(infeasible->remedies.size(), 3u);
  bool memory_named = false;
  for (const Remedy& remedy : infeasible->remedies) {
    EXPECT_GT(remedy.step, Duration(0)) << remedy.what;
    memory_named = memory_named || remedy.setting.starts_with("--hbm");
    Job changed = job;
    ResolvedMachine larger = machine;
    const auto value = [&] {
      return std::stoll(remedy.setting.substr(remedy.setting.find_first_of("= ") + 1));
    };
    if (remedy.setting.starts_with("loss_chunk")) changed.loss_chunk = value();
    if (remedy.setting.starts_with("micro_batch")) changed.micro_batch = value();
    if (remedy.setting.starts_with("seq_len")) changed.seq_len = value();
    if (remedy.setting.starts_with("--hbm")) larger.hbm = Bytes(value() << 20);
    const auto after = search(Predictor(changed, larger, {}), quick());
    EXPECT_TRUE(std::holds_alternative<Planned>(after)) << remedy.setting;
  }
  EXPECT_TRUE(memory_named);
}

TEST(Remedies, FewerGroupsOfMicroBatchesTakeLessOfTheDevice) {
  Job job = tiny_job();
  job.loss_chunk = 16;
  ResolvedMachine machine = round_machine();
  machine.hbm = least_hbm(job);
  EXPECT_TRUE(std::holds_alternative<Planned>(search(Predictor(job, machine, {}), quick())));
  job.groups = 4;
  const auto found = search_or_remedy(Predictor(job, machine, {}), {}, quick());
  const auto* infeasible = std::get_if<Infeasible>(&found);
  ASSERT_NE(infeasible, nullptr);
  EXPECT_EQ(infeasible->tier, Tier::hbm);
  ASSERT_FALSE(infeasible->remedies.empty());
  EXPECT_EQ(infeasible->remedies.front().setting.substr(0, 7), "groups=");
  EXPECT_TRUE(infeasible->remedies.front().changes_bits);
}

TEST(Remedies, ShortHostMemoryIsNamed) {
  const Job job = tiny_job();
  ResolvedMachine machine = round_machine();
  machine.host = Bytes(1 << 20);
  const Predictor predictor(job, machine, {}, Residency::host);
  const auto found = search_or_remedy(predictor, {}, quick());
  const auto* infeasible = std::get_if<Infeasible>(&found);
  ASSERT_NE(infeasible, nullptr);
  EXPECT_EQ(infeasible->tier, Tier::host);
  ASSERT_FALSE(infeasible->remedies.empty());
  EXPECT_TRUE(infeasible->remedies.front().setting.starts_with("--host"));
}

/// Some blocks' state on the device takes as much off the host: plans with all of it on either side
/// need 221 GiB there, and were once said to take the least memory.
TEST(Remedies, WhatLacksIsOfThePlanThatNeedsLeast) {
  RunConfig config = run_of("qwen2.5-14b", "rtx-4090", 4096, 16);
  const Request run = resolve(config, Store("no-such-store"));
  std::vector<Remedy> remedies[2];
  for (const std::int64_t effort : {kQuickEffort / 4, kQuickEffort}) {
    SearchSettings settings = run.search;
    settings.effort = effort;
    const auto found = search_or_remedy(run.predictor, {}, settings);
    const auto* infeasible = std::get_if<Infeasible>(&found);
    ASSERT_NE(infeasible, nullptr);
    EXPECT_EQ(infeasible->tier, Tier::host);
    const Bytes needed = at(infeasible->memory, Tier::host).peak;
    EXPECT_LT(needed, Bytes(213ll << 30));
    config.limits.host = Bytes((needed.count() >> 20) + 1) * (1 << 20);
    const Request enough = resolve(config, Store("no-such-store"));
    EXPECT_TRUE(std::holds_alternative<Planned>(
        search(enough.predictor, {.pins = enough.search.pins, .effort = kQuickEffort})));
    remedies[effort == kQuickEffort ? 1 : 0] = infeasible->remedies;
  }
  ASSERT_EQ(remedies[0].size(), remedies[1].size());
  for (std::size_t i = 0; i < remedies[0].size(); ++i) {
    EXPECT_EQ(remedies[0][i].setting, remedies[1][i].setting);
    EXPECT_EQ(remedies[0][i].step, remedies[1][i].step);
  }
}

TEST(Remedies, AreOneOnceItIsLateAndNoneOnceAskedToStop) {
  const RunConfig config = run_of("qwen2.5-14b", "rtx-4090", 4096, 16);
  const Request run = resolve(config, Store("no-such-store"));
  SearchSettings settings = run.search;
  settings.effort = kQuickEffort / 4;
  const auto found = search(run.predictor, settings);
  const auto* infeasible = std::get_if<Infeasible>(&found);
  ASSERT_NE(infeasible, nullptr);
  EXPECT_GT(remedies_for(run.predictor, *infeasible, {}, settings).size(), 1u);

  settings.until = Deadline::in(Seconds(0));
  const auto late = remedies_for(run.predictor, *infeasible, {}, settings);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_TRUE(late.front().setting.starts_with("--host"));

  std::stop_source stop;
  settings.stop = stop.get_token();
  stop.request_stop();
  EXPECT_THROW((void)remedies_for(run.predictor, *infeasible, {}, settings), Interrupted);
}

}  // namespace
}  // namespace sluice::planner
