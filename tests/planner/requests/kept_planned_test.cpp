#include "planner/requests/kept_planned.hpp"

#include <gtest/gtest.h>

#include "planner/requests/choose_plan.hpp"
#include "tests/planner/requests/run_of.hpp"

namespace sluice::planner {
namespace {

using test::run_on_h200;
using test::ScratchFolder;

Request quick_request(const RunConfig& run, const Store& store) {
  Request request = resolve(run, store);
  request.search.effort = kQuickEffort / 4;
  return request;
}

ChosenPlan search_once(const Request& request, bool kept = true) {
  return std::get<ChosenPlan>(choose_plan(request, {.kept = kept}));
}

// Programs of changed sources keep nothing: their name does not tell them apart.
TEST(KeptPlanned, AnEqualSearchIsMadeOnceAndGivesTheSame) {
  const ScratchFolder folder;
  const Request request = quick_request(run_on_h200(), Store(folder.path()));
  const ChosenPlan first = search_once(request);
  EXPECT_FALSE(first.is_kept);
  const ChosenPlan second = search_once(request);
  EXPECT_EQ(second.is_kept, built_program().has_value());
  EXPECT_EQ(second.step().prediction.step, first.step().prediction.step);
  EXPECT_EQ(second.step().prediction.plan_hash, first.step().prediction.plan_hash);
  EXPECT_EQ(second.planned.optimality_gap, first.planned.optimality_gap);
  EXPECT_EQ(second.planned.bound, first.planned.bound);
  EXPECT_EQ(second.planned.considered, first.planned.considered);
  EXPECT_FALSE(search_once(request, false).is_kept);
}

TEST(KeptPlanned, AnythingThatMayChangeTheAnswerIsAnotherSearch) {
  if (!built_program()) GTEST_SKIP() << "built from changed sources: nothing is kept";
  const ScratchFolder folder;
  const Store store(folder.path());
  const RunConfig run = run_on_h200();
  keep_planned(quick_request(run, store), search_once(quick_request(run, store), false).planned);
  EXPECT_TRUE(kept_planned(quick_request(run, store)));
  Request longer = quick_request(run, store);
  longer.search.effort *= 2;
  EXPECT_FALSE(kept_planned(longer));
  RunConfig other = run;
  other.batch_size *= 2;
  EXPECT_FALSE(kept_planned(quick_request(other, store)));
  other = run;
  other.limits.hbm = Bytes(20ll << 30);
  EXPECT_FALSE(kept_planned(quick_request(other, store)));
  other = run;
  other.machine_overrides["h2d"] = "0.9x";
  EXPECT_FALSE(kept_planned(quick_request(other, store)));
  other = run;
  other.plan_overrides["prefetch"] = "1";
  EXPECT_FALSE(kept_planned(quick_request(other, store)));
  other = run;
  other.terms.latency = false;
  EXPECT_FALSE(kept_planned(quick_request(other, store)));
}

TEST(KeptPlanned, WhatTimeBoundsIsNeverKept) {
  const ScratchFolder folder;
  Request request = quick_request(run_on_h200(), Store(folder.path()));
  const Planned planned = search_once(request, false).planned;
  request.search.until = Deadline::in(Seconds(1000));
  keep_planned(request, planned);
  EXPECT_FALSE(kept_planned(request));
  request.search.until = {};
  EXPECT_FALSE(kept_planned(request));
}

}  // namespace
}  // namespace sluice::planner
