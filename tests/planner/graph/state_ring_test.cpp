// State that passes through a ring of slots for its update on the device (Staging::ring).
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "planner/graph/staged_state.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/layout/layout.hpp"
#include "planner/plans/plan_file.hpp"
#include "tests/planner/refusal.hpp"
#include "tests/planner/step_jobs.hpp"
#include "tests/planner/task_spans.hpp"

namespace sluice::planner {
namespace {

using test::RoundCosts;
using test::spans_of;

/// A job of `layers` blocks, without clipping.
Job unclipped_job(std::int64_t layers = 8) {
  Job job = test::tiny_job();
  job.model.layers = layers;
  job.optimizer.clip.reset();
  return job;
}

Plan ring_plan(const Job& job, When when, std::int64_t slots, Tier gradients = Tier::host,
               std::int64_t rounds = 1) {
  Plan plan = uniform_plan(job,
                           {.weights = Tier::host,
                            .gradients = gradients,
                            .executor = Executor::gpu,
                            .when = when,
                            .staging = Staging::ring},
                           rounds);
  plan.state_buffers = slots;
  return plan;
}

std::int64_t bytes_of_step(const StepGraph& graph, TaskKind kind) {
  std::int64_t bytes = 0;
  for (const StepTask& task : graph.tasks) {
    if (task.step == 2 && task.kind == kind) bytes += task.bytes.count();
  }
  return bytes;
}

std::int64_t parameters(const Job& job) {
  std::int64_t sum = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    sum += unit_padded_size(job.model, unit);
  }
  return sum;
}

Bytes staged_memory(const StepGraph& graph) {
  Bytes sum{0};
  for (const StepTensor& tensor : graph.tensors) {
    if (tensor.part == "staged state") sum += tensor.bytes;
  }
  return sum;
}

TEST(StateRing, HoldsAsManyBlocksAsItHasSlotsAndOneForEmbeddingAndHead) {
  const Job job = unclipped_job();
  const std::int64_t block = unit_padded_size(job.model, 1);
  const std::int64_t outer =
      std::max(unit_padded_size(job.model, 0), unit_padded_size(job.model, 9));
  for (const std::int64_t slots : {1, 2, 3, 8, 20}) {
    const StepGraph graph =
        build_step_graph(job, ring_plan(job, When::backward, slots), RoundCosts());
    EXPECT_EQ(staged_memory(graph), Bytes(12 * (std::min<std::int64_t>(slots, 8) * block + outer)));
    EXPECT_EQ(find_layout_fault(graph, graph.layout), std::nullopt);
  }
  // A gradient that comes from the host has its place beside the state.
  const StepGraph after = build_step_graph(job, ring_plan(job, When::after, 2), RoundCosts());
  EXPECT_EQ(staged_memory(after), Bytes(16 * (2 * block + outer)));
}

TEST(StateRing, UnderBackwardStateCrossesOnceEachWayAndTheGradientDoesNot) {
  const Job job = unclipped_job();
  const std::int64_t n = parameters(job);
  const StepGraph once = build_step_graph(job, ring_plan(job, When::backward, 2), RoundCosts());
  EXPECT_EQ(bytes_of_step(once, TaskKind::load_state), 12 * n);
  EXPECT_EQ(bytes_of_step(once, TaskKind::store_state), 12 * n);
  EXPECT_EQ(bytes_of_step(once, TaskKind::store_gradient), 0);
  // With two rounds the running sum waits on the host between them, and does not leave again.
  const StepGraph twice =
      build_step_graph(job, ring_plan(job, When::backward, 2, Tier::host, 2), RoundCosts());
  EXPECT_EQ(bytes_of_step(twice, TaskKind::load_state), 12 * n);
  EXPECT_EQ(bytes_of_step(twice, TaskKind::store_gradient), 4 * n);
  EXPECT_EQ(bytes_of_step(twice, TaskKind::load_gradient), 4 * n);
}

TEST(StateRing, AfterTheStepTheGradientComesFromTheHostWithItsState) {
  const Job job = unclipped_job();
  const std::int64_t n = parameters(job);
  const StepGraph graph = build_step_graph(job, ring_plan(job, When::after, 2), RoundCosts());
  EXPECT_EQ(bytes_of_step(graph, TaskKind::load_state), (12 + 4) * n);
  EXPECT_EQ(bytes_of_step(graph, TaskKind::store_gradient), 4 * n);
  const StepGraph waits =
      build_step_graph(job, ring_plan(job, When::after, 2, Tier::hbm), RoundCosts());
  EXPECT_EQ(bytes_of_step(waits, TaskKind::load_state), 12 * n);
  EXPECT_EQ(bytes_of_step(waits, TaskKind::store_gradient), 0);
}

TEST(StateRing, UpdatesRunUnderTheBackwardPassWithStateThatCameBefore) {
  const Job job = unclipped_job();
  // Passes of 1 ms, four to a block; a block's state takes 0.4 ms.
  const auto spans =
      spans_of(build_step_graph(job, ring_plan(job, When::backward, 3), RoundCosts()));
  for (int block = 7; block > 0; --block) {
    const std::string name = "L" + std::to_string(block), before = "L" + std::to_string(block - 1);
    const auto& update = spans.at("s2/update/" + name);
    EXPECT_EQ(update.start, spans.at("s2/norm/" + name).end) << name << " waits for no copy";
    EXPECT_LT(spans.at("s2/state/" + name + "/load/v/c0").end, update.start);
    EXPECT_GE(spans.at("s2/state/" + name + "/store/master/c0").start, update.end);
    EXPECT_LE(update.end, spans.at("s2/r0/bwd/" + before + "/m0").end);
  }
  EXPECT_LT(spans.at("s2/update/L1").end, spans.at("s2/grads").start);
}

TEST(StateRing, ASlotIsTheNextUnitsOnceItsStateIsStored) {
  const Job job = unclipped_job();
  // Copies at 10 MB/s take longer than passes.
  const auto spans =
      spans_of(build_step_graph(job, ring_plan(job, When::backward, 2), RoundCosts(1e7)));
  for (int block = 7; block >= 2; --block) {
    const std::string tenant = "L" + std::to_string(block), next = "L" + std::to_string(block - 2);
    EXPECT_GE(spans.at("s2/state/" + next + "/load/v/c0").end,
              spans.at("s2/state/" + tenant + "/store/v/c0").end)
        << tenant;
  }
}

TEST(StateRing, WhereUpdatesWaitForTheNormTheFirstSlotsFillBeforeIt) {
  Job job = unclipped_job();
  job.optimizer.clip = 1.0;
  const auto spans =
      spans_of(build_step_graph(job, ring_plan(job, When::after, 3, Tier::hbm), RoundCosts(1e8)));
  const Instant norm = spans.at("s2/grads").end;
  EXPECT_LT(spans.at("s2/state/L2/load/master/c0").start, norm);
  EXPECT_GE(spans.at("s2/state/L3/load/master/c0").start, norm);
  for (const char* unit : {"embed", "L0", "L7", "head"}) {
    EXPECT_GE(spans.at(std::string("s2/update/") + unit).start, norm) << unit;
    EXPECT_GE(spans.at("s3/tokens/c0").start, spans.at(std::string("s2/update/") + unit).end);
  }
}

TEST(StateRing, SharesThePlanWithOtherUpdates) {
  const Job job = unclipped_job();
  Plan plan = ring_plan(job, When::backward, 2);
  plan.units[0] = {.gradients = Tier::hbm, .executor = Executor::gpu, .when = When::after};
  plan.units[2] = {};
  plan.units[3] = {.gradients = Tier::hbm, .executor = Executor::gpu, .when = When::after};
  plan.units[5].when = When::after;
  plan.units[6] = {.executor = Executor::gpu, .when = When::after};
  const StepGraph graph = build_step_graph(job, plan, RoundCosts());
  EXPECT_EQ(find_layout_fault(graph, graph.layout), std::nullopt);
  const auto spans = spans_of(graph);
  EXPECT_LT(spans.at("s2/update/L6").end, spans.at("s2/grads").start);
  EXPECT_GT(spans.at("s2/update/L4").start, spans.at("s2/grads").start);
}

TEST(StateRing, StandsInAPlansFileAndItsHashWhereItIsUsedAlone) {
  const Job job = unclipped_job();
  PlanFile file;
  file.plan = ring_plan(job, When::after, 2);
  EXPECT_EQ(plan_file_from_json(to_json_text(file), "plan.json").plan, file.plan);
  PlanFile whole = file;
  for (UnitPlan& unit : whole.plan.units) unit.staging = Staging::whole;
  EXPECT_NE(plan_hash(whole.plan), plan_hash(file.plan));
  EXPECT_EQ(to_json_text(whole).find("staging"), std::string::npos);
  EXPECT_NO_THROW(require_executable(file.plan));
}

TEST(StateRing, UnderBackwardIsRefusedForStateThatIsStagedWhole) {
  const Job job = unclipped_job();
  Plan plan = ring_plan(job, When::backward, 2);
  EXPECT_NO_THROW(validate(plan, job));
  plan.units[3].staging = Staging::whole;
  EXPECT_REFUSED((validate(plan, job), 0),
                 "layers[3].when: backward does not go with executor gpu");
  plan = ring_plan(job, When::forward, 2);
  EXPECT_REFUSED((validate(plan, job), 0), "layers[0].when: forward does not go with executor gpu");
}

}  // namespace
}  // namespace sluice::planner
