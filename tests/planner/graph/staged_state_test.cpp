#include "planner/graph/staged_state.hpp"

#include <gtest/gtest.h>

#include "planner/graph/step_graph.hpp"
#include "planner/layout/layout.hpp"
#include "tests/planner/step_jobs.hpp"
#include "tests/planner/task_spans.hpp"

namespace sluice::planner {
namespace {

using test::RoundCosts;
using test::spans_of;

/// A job whose records outweigh its state.
Job long_job() {
  Job job = test::tiny_job();
  job.seq_len = 512;
  return job;
}

Plan staged_plan(const Job& job, Tier weights = Tier::hbm) {
  return uniform_plan(job,
                      {.weights = weights,
                       .gradients = Tier::hbm,
                       .keep = Keep::all,
                       .executor = Executor::gpu,
                       .when = When::after},
                      1);
}

std::int64_t bytes_moved(const StepGraph& graph, TaskKind kind) {
  std::int64_t bytes = 0;
  for (const StepTask& task : graph.tasks) {
    if (task.step == 2 && task.kind == kind) bytes += task.bytes.count();
  }
  return bytes;
}

std::int64_t padded_parameters(const Job& job) {
  std::int64_t sum = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    sum += unit_tensors(job.model, unit).padded_size;
  }
  return sum;
}

TEST(StagedState, CrossesTheLinkOnceEachWayAndTheGradientDoesNot) {
  const Job job = long_job();
  const std::int64_t n = padded_parameters(job);
  const StepGraph resident = build_step_graph(job, staged_plan(job), RoundCosts());
  // Low halves, m and v come; they and the updated high halves go. The copy is current already.
  EXPECT_EQ(bytes_moved(resident, TaskKind::load_state), 10 * n);
  EXPECT_EQ(bytes_moved(resident, TaskKind::store_state), 12 * n);
  EXPECT_EQ(bytes_moved(resident, TaskKind::store_gradient), 0);
  EXPECT_EQ(bytes_moved(resident, TaskKind::load_weights), 0);
  const StepGraph streamed = build_step_graph(job, staged_plan(job, Tier::host), RoundCosts());
  EXPECT_EQ(bytes_moved(streamed, TaskKind::load_state), 12 * n);
  EXPECT_EQ(bytes_moved(streamed, TaskKind::store_state), 12 * n);
  EXPECT_GT(bytes_moved(streamed, TaskKind::load_weights), 0);
  Job fp32 = job;
  fp32.compute = ComputeType::fp32;
  const StepGraph both = build_step_graph(fp32, staged_plan(fp32), RoundCosts());
  EXPECT_EQ(bytes_moved(both, TaskKind::load_state), 8 * n)
      << "both halves of the weights are there";
  EXPECT_EQ(bytes_moved(both, TaskKind::store_state), 12 * n);
}

TEST(StagedState, IsThereBeforeTheNormIsKnown) {
  const Job job = long_job();
  const auto spans = spans_of(build_step_graph(job, staged_plan(job), RoundCosts()));
  EXPECT_LT(spans.at("s2/state/L3/load/v/c0").end, spans.at("s2/grads").end);
  EXPECT_GE(spans.at("s2/update/L3").start, spans.at("s2/grads").end);
  EXPECT_LT(spans.at("s2/update/L3").end, spans.at("s3/r0/fwd/embed/m0").start);
  EXPECT_GE(spans.at("s2/state/L3/store/v/c0").start, spans.at("s2/update/L3").end);
}

TEST(StagedState, LoadsFollowTheStoresWhereItHasMemoryOfItsOwn) {
  const Job job = long_job();
  Plan plan = staged_plan(job);
  plan.state_buffers = static_cast<std::int64_t>(plan.units.size());
  std::vector<std::size_t> order;
  for (const StagedLoad& load : staged_loads(job, plan)) {
    EXPECT_FALSE(load.takes_record_of);
    order.push_back(load.unit);
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
}

TEST(StagedState, TakesTheRecordsThatBackwardLeavesLastLoadedFirstStored) {
  const Job job = long_job();
  Plan plan = staged_plan(job);
  plan.state_buffers = 2;
  const std::vector<StagedLoad> loads = staged_loads(job, plan);
  ASSERT_EQ(loads.size(), 6U);
  // Head and last block have memory of their own; the others come from the last of them to the
  // embedding, for as long as records leave enough.
  EXPECT_EQ(loads[0].unit, 4U);
  EXPECT_EQ(loads[1].unit, 5U);
  std::size_t block = 4;
  for (std::size_t i = 2; i < loads.size(); ++i) {
    EXPECT_EQ(loads[i].unit, 5 - i);
    ASSERT_TRUE(loads[i].takes_record_of);
    EXPECT_LE(*loads[i].takes_record_of, block);
    block = *loads[i].takes_record_of;
  }
}

TEST(StagedState, HasMemoryOfItsOwnWhereRecordsLeaveTooLittle) {
  const Job job = test::tiny_job();
  Plan plan = staged_plan(job);
  for (UnitPlan& unit : plan.units) unit.keep = Keep::input;
  for (const StagedLoad& load : staged_loads(job, plan)) EXPECT_FALSE(load.takes_record_of);
}

TEST(StagedState, SharesItsBytesWithRecordsAndTheNextRecordWaits) {
  const Job job = long_job();
  Plan plan = staged_plan(job);
  const StepGraph shared = build_step_graph(job, plan, RoundCosts());
  EXPECT_EQ(find_layout_fault(shared, shared.layout), std::nullopt);
  plan.state_buffers = 6;
  const StepGraph apart = build_step_graph(job, plan, RoundCosts());
  EXPECT_LT(shared.layout.device_bytes, apart.layout.device_bytes);
  // Stores at 10 MB/s: the forward pass overtakes them unless it has to wait.
  const auto slow = spans_of(build_step_graph(job, staged_plan(job), RoundCosts(1e7)));
  const auto loads = staged_loads(job, staged_plan(job));
  ASSERT_TRUE(loads.front().takes_record_of);
  const std::string unit = unit_name(job.model, loads.front().unit);
  const std::string before = unit_name(job.model, *loads.front().takes_record_of - 1);
  EXPECT_GE(slow.at("s3/r0/fwd/" + before + "/m0").start,
            slow.at("s2/state/" + unit + "/store/copy/c0").end);
  EXPECT_GE(
      slow.at("s3/state/" + unit + "/load/m/c0").start,
      slow.at("s3/r0/bwd/" + unit_name(job.model, *loads.front().takes_record_of) + "/m3").end);
}

}  // namespace
}  // namespace sluice::planner
