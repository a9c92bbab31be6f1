// Steps of plans that compute inputs again and pass over the model on the CPU.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/layout/laid_out.hpp"
#include "planner/plans/plan_file.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/step_jobs.hpp"
#include "tests/planner/task_spans.hpp"

namespace sluice::planner {
namespace {

using test::RoundCosts;
using test::tiny_job;

Plan one_buffered(const Job& job, std::int64_t interval) {
  UnitPlan unit;
  unit.when = When::after;
  Plan plan = uniform_plan(job, unit, 1);
  plan.checkpoint_interval = interval;
  return plan;
}

std::int64_t count(const StepGraph& graph, TaskKind kind) {
  return std::ranges::count_if(graph.tasks,
                               [kind](const StepTask& task) { return task.kind == kind; }) /
         3;
}

TEST(CheckpointInterval, EveryBlockPassesForwardOnceMore) {
  const Job job = tiny_job();  // Four blocks, four micro-batches.
  const StepGraph kept = write_step_graph(job, one_buffered(job, 1), RoundCosts());
  const StepGraph again = write_step_graph(job, one_buffered(job, 2), RoundCosts());
  EXPECT_EQ(count(again, TaskKind::forward), count(kept, TaskKind::forward));
  EXPECT_EQ(count(again, TaskKind::recompute), count(kept, TaskKind::recompute) + 4 * 4);
  EXPECT_EQ(count(again, TaskKind::backward), count(kept, TaskKind::backward));
}

TEST(CheckpointInterval, BringsWeightsOverTheLinkOnceMore) {
  const Job job = tiny_job();
  Plan plan = one_buffered(job, 1);
  set_weight_buffers(plan, 1);
  // With one buffer each use but that of the block before is a load: 4 forward and 3 backward.
  const std::int64_t ends = 2;
  EXPECT_EQ(count(write_step_graph(job, plan, RoundCosts()), TaskKind::load_weights), 4 + 3 + ends);
  // Groups of two: forward 1 2 3 4, again 3 4, backward 4 3, again 1 2, backward 2 1.
  plan.checkpoint_interval = 2;
  EXPECT_EQ(count(write_step_graph(job, plan, RoundCosts()), TaskKind::load_weights),
            4 + 2 + 1 + 2 + 1 + ends);
}

TEST(CheckpointInterval, KeepsFewerInputs) {
  Job job = tiny_job();
  job.model.layers = 12;
  job.batch_size = 16;
  const auto activations = [&](std::int64_t interval) {
    return build_step_graph(job, one_buffered(job, interval), RoundCosts()).layout.device_bytes;
  };
  EXPECT_LT(activations(4), activations(1));
}

TEST(HostPasses, RunOneAfterAnotherBetweenBackwardAndTheNextStep) {
  const Job job = tiny_job();
  Plan plan = one_buffered(job, 1);
  plan.threads = 4;
  plan.host_passes = {{.name = "norm", .threads = HostPass::Threads::one, .bytes_per_parameter = 7},
                      {.name = "back",
                       .moment = HostPass::Moment::after_update,
                       .over = HostPass::Over::ends,
                       .bytes_per_parameter = 14}};
  const StepGraph graph = write_step_graph(job, plan, RoundCosts());
  const auto spans = test::spans_of(graph);
  Instant stored{};
  for (const auto& [id, span] : spans) {
    if (id.starts_with("s2/r0/store/")) stored = std::max(stored, span.end);
  }
  EXPECT_GE(spans.at("s2/pass/norm").start, stored);
  EXPECT_GE(spans.at("s2/update/embed").start, spans.at("s2/pass/norm").end);
  EXPECT_GE(spans.at("s2/pass/back").start, spans.at("s2/update/head").end);
  EXPECT_GE(spans.at("s3/tokens/c0").start, spans.at("s2/pass/back").end);
  // A quarter of an update's 28 bytes by one thread of 1e8 parameters/s; half of them by four.
  std::int64_t all = 0;
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    all += unit_padded_size(job.model, unit);
  }
  const std::int64_t ends =
      unit_padded_size(job.model, 0) + unit_padded_size(job.model, plan.units.size() - 1);
  const auto seconds = [&](const char* id) {
    return to_seconds(spans.at(id).end - spans.at(id).start).count();
  };
  EXPECT_NEAR(seconds("s2/pass/norm"), static_cast<double>(all) / 4 / 1e8, 1e-8);
  EXPECT_NEAR(seconds("s2/pass/back"), static_cast<double>(ends) / 2 / 2e8, 1e-8)
      << "four threads share two cores";
}

TEST(HostPasses, ArePredictedAndNotExecuted) {
  const Job job = tiny_job();
  Plan plan = one_buffered(job, 1);
  EXPECT_NO_THROW(require_executable(plan));
  plan.host_passes = {{.name = "norm", .bytes_per_parameter = 2}};
  EXPECT_REFUSED((require_executable(plan), 0), "host_passes is predicted and not executed");
  plan.host_passes.clear();
  plan.checkpoint_interval = 2;
  EXPECT_REFUSED((require_executable(plan), 0), "checkpoint_interval above 1 is predicted");
  plan.units[1].keep = Keep::all;
  EXPECT_REFUSED((validate(plan, job), 0), "checkpoint_interval");
}

TEST(HostPasses, StandInAPlansFileAndItsHash) {
  const Job job = tiny_job();
  PlanFile file;
  file.plan = one_buffered(job, 2);
  const std::string interval_alone = plan_hash(file.plan);
  file.plan.host_passes = {{.name = "free",
                            .moment = HostPass::Moment::after_update,
                            .over = HostPass::Over::ends,
                            .threads = HostPass::Threads::one,
                            .bytes_per_parameter = 1.5}};
  EXPECT_NE(plan_hash(file.plan), interval_alone);
  EXPECT_NE(interval_alone, plan_hash(one_buffered(job, 1)));
  EXPECT_EQ(plan_file_from_json(to_json_text(file), "plan.json").plan, file.plan);
}

}  // namespace
}  // namespace sluice::planner
