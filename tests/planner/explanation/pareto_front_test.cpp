#include "planner/explanation/pareto_front.hpp"

#include <gtest/gtest.h>

#include "planner/effort/search_settings.hpp"
#include "planner/explanation/batch_that_hides_link.hpp"
#include "planner/explanation/free_sizes.hpp"
#include "planner/requests/request.hpp"
#include "planner/requests/run_step.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

/// A run that streams: its state is kept off the device, and the link is slow.
RunConfig streaming_run() {
  RunConfig run;
  run.model = "bytes-2m";
  run.machine = "rtx-4090";
  run.seq_len = 256;
  run.batch_size = 8;
  run.loss_chunk = 256;
  run.residency = Residency::host;
  return run;
}

Store no_store() { return Store("/nonexistent/store"); }

void expect_front(const RunConfig& run, FrontAxis axis, const std::vector<FrontPoint>& points) {
  const FrontPoint* before = nullptr;
  for (const FrontPoint& point : points) {
    RunConfig own = run;
    own.batch_size = point.batch_size;
    own.limits.hbm = point.hbm;
    own.limits.host = point.host;
    const Prediction p = resolve(own, no_store()).predictor.predict(point.plan).prediction;
    EXPECT_TRUE(p.fits);
    EXPECT_EQ(p.step, point.step);
    EXPECT_EQ(p.plan_hash, point.plan_hash);
    EXPECT_DOUBLE_EQ(p.tokens_per_s, point.tokens_per_s);
    if (before != nullptr) {
      if (axis == FrontAxis::tokens) {
        EXPECT_GT(point.tokens, before->tokens);
        EXPECT_GT(point.tokens_per_s, before->tokens_per_s);
      } else {
        EXPECT_GT(axis == FrontAxis::hbm ? point.hbm : point.host,
                  axis == FrontAxis::hbm ? before->hbm : before->host);
        EXPECT_LT(point.step, before->step);
      }
    }
    before = &point;
  }
}

TEST(ParetoFront, PointsAlongDeviceMemoryArePredictionsThatNoneBeats) {
  const RunConfig run = streaming_run();
  const ParetoFront front = pareto_front(resolve(run, no_store()), FrontAxis::hbm, {}, {});
  ASSERT_GE(front.points.size(), 3u);
  expect_front(run, FrontAxis::hbm, front.points);
  ParetoFront compared = front;
  const Request request = resolve(run, no_store());
  const Prediction last = request.predictor.predict(compared.points.back().plan).prediction;
  compare_front(compared, request.job(), last);
  EXPECT_EQ(compared.points.back().beside, RatioInterval{});
  EXPECT_NEAR(compared.points.front().beside->ratio,
              to_seconds(compared.points.front().step) / to_seconds(last.step), 1e-9);
  // The front's least memory is the least that any plan needs: with less nothing fits.
  RunConfig less = run;
  less.limits.hbm = front.points.front().hbm - Bytes(1 << 20);
  EXPECT_FALSE(step_of(resolve(less, no_store())).has_value());
}

TEST(ParetoFront, PointsAlongHostMemoryAndTokensArePredictionsThatNoneBeats) {
  RunConfig run = streaming_run();
  run.residency = Residency::automatic;
  const ParetoFront host = pareto_front(resolve(run, no_store()), FrontAxis::host, {}, {});
  ASSERT_GE(host.points.size(), 1u);
  expect_front(run, FrontAxis::host, host.points);
  run.residency = Residency::host;
  const ParetoFront tokens = pareto_front(resolve(run, no_store()), FrontAxis::tokens, {}, {});
  ASSERT_GE(tokens.points.size(), 2u);
  EXPECT_LE(tokens.points.back().batch_size, 4 * run.batch_size);
  expect_front(run, FrontAxis::tokens, tokens.points);
}

TEST(ParetoFront, AKnownPlanThatIsFasterIsOnIt) {
  const RunConfig run = streaming_run();
  const auto best = step_of(resolve(run, no_store()), kUsualEffort);
  ASSERT_TRUE(best.has_value());
  const ParetoFront front =
      pareto_front(resolve(run, no_store()), FrontAxis::hbm, {best->prediction.plan}, {});
  EXPECT_LE(front.points.back().step, best->prediction.step);
}

TEST(HideLink, TheBatchBeforeIsExposedAndTheBatchItselfIsNot) {
  RunConfig run = streaming_run();
  run.machine_overrides = {{"h2d", "0.02x"}, {"d2h", "0.02x"}};
  const HiddenLink link = batch_that_hides_link(resolve(run, no_store()), {});
  ASSERT_TRUE(link.hidden.has_value());
  ASSERT_TRUE(link.exposed.has_value());
  EXPECT_EQ(link.hidden->batch_size, link.exposed->batch_size + run.micro_batch);
  EXPECT_LE(link.hidden->exposed, kHidden);
  EXPECT_GT(link.exposed->exposed, kHidden);
  for (const BatchPoint* point : {&*link.hidden, &*link.exposed}) {
    RunConfig own = run;
    own.batch_size = point->batch_size;
    const Prediction p = step_of(resolve(own, no_store()))->prediction;
    EXPECT_EQ(p.step, point->step);
    const Duration waits =
        p.stalls.at(Stall::weights) + p.stalls.at(Stall::gradient) + p.stalls.at(Stall::activation);
    EXPECT_DOUBLE_EQ(to_seconds(waits) / to_seconds(p.step), point->exposed);
  }
}

TEST(HideLink, WhereNoBatchDoesItSaysWhatTheLargestWaitsFor) {
  RunConfig run = streaming_run();
  run.micro_batch = run.batch_size;
  run.seq_len = 32;
  run.loss_chunk = 32;
  run.machine_overrides = {{"h2d", "0.00001x"}, {"d2h", "0.00001x"}};
  const HiddenLink link =
      batch_that_hides_link(resolve(run, no_store()), {.most_micro_batches = 8});
  EXPECT_FALSE(link.hidden.has_value());
  ASSERT_TRUE(link.largest.has_value());
  EXPECT_EQ(link.largest->batch_size, 8 * run.micro_batch);
  EXPECT_GT(link.largest->exposed, kHidden);
}

TEST(HideLink, TheBatchBoundByComputeIsTheLeast) {
  RunConfig run = streaming_run();
  run.machine_overrides = {{"h2d", "0.02x"}, {"d2h", "0.02x"}};
  const auto batch = batch_bound_by_compute(resolve(run, no_store()));
  ASSERT_TRUE(batch.has_value());
  ASSERT_GT(*batch, 1);
  run.batch_size = *batch;
  EXPECT_EQ(resolve(run, no_store()).predictor.bound().by, BoundBy::compute);
  run.batch_size = *batch - 1;
  EXPECT_NE(resolve(run, no_store()).predictor.bound().by, BoundBy::compute);
}

TEST(FreeSizes, TheChosenSizesAreTheFastestTried) {
  RunConfig run = streaming_run();
  const ChosenSizes chosen =
      choose_sizes(resolve(run, no_store()), {.micro_batch = true, .loss_chunk = true}, {});
  ASSERT_FALSE(chosen.trials.empty());
  std::optional<Duration> least;
  bool all_divide = true;
  for (const SizeTrial& trial : chosen.trials) {
    all_divide = all_divide && run.batch_size % trial.micro_batch == 0;
    if (trial.step && (!least || *trial.step < *least)) least = trial.step;
  }
  EXPECT_TRUE(all_divide);
  const auto step = step_of(resolve(chosen.config, no_store()));
  ASSERT_TRUE(step && least);
  // Sizes change only for at least 0.5 % of the step.
  EXPECT_GE(to_seconds(*least), 0.995 * to_seconds(step->prediction.step));
  EXPECT_LT(step->prediction.step, *chosen.trials.front().step)
      << "the sizes asked for are the first trial";
  EXPECT_NE(describe_choice(run, chosen.config).find("another job"), std::string::npos);
}

TEST(FreeSizes, WhatIsNotFreeStays) {
  RunConfig run = streaming_run();
  run.loss_chunk = 128;
  const ChosenSizes chosen = choose_sizes(resolve(run, no_store()), {.micro_batch = true}, {});
  EXPECT_EQ(chosen.config.loss_chunk, 128);
  for (const SizeTrial& trial : chosen.trials) EXPECT_EQ(trial.loss_chunk, 128);
  EXPECT_NE(describe_choice(run, run).find("as they were"), std::string::npos);
}

TEST(FreeSizes, OtherSizesAreRefusedWithTheNearest) {
  EXPECT_REFUSED(parse_free_sizes("micro_batch,los_chunk"), "loss_chunk");
  EXPECT_REFUSED(parse_free_sizes(""), "micro_batch");
  EXPECT_TRUE(parse_free_sizes("loss_chunk").loss_chunk);
  EXPECT_FALSE(parse_free_sizes("loss_chunk").micro_batch);
}

}  // namespace
}  // namespace sluice::planner
