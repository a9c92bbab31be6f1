#include "planner/layout/memory_range.hpp"

#include <gtest/gtest.h>

#include "planner/graph/record.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/graph/unit_memory.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/layout/memory.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/predictions/predict.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

// The least of the device counts the workspace also where the norm is known, when nothing uses it.
TEST(MemoryRange, OfRandomPlansBeginsAtMostAWorkspaceAboveThePeak) {
  for (const Job& job : {tiny_job(), tiny_job(true)}) {
    const Predictor predictor(job, round_machine(), {});
    const MemoryRanges ranges(predictor.job(), predictor.machine());
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const Plan plan = random_plan(job, seed);
      const StepGraph graph = build_step_graph(job, plan, predictor.costs());
      const Memory memory = memory_of(graph, predictor.machine());
      const Bytes workspace = workspace_bytes(job, predictor.machine().profile.device);
      EXPECT_LE(ranges.of(plan).hbm_at_least, at(memory, Tier::hbm).peak + workspace) << seed;
      EXPECT_LE(ranges.of(plan).host_at_least, at(memory, Tier::host).peak) << seed;
    }
  }
}

TEST(UnitMemory, OfAStreamedUnitIsStateOnTheHostAndSlotsOfTheDevice) {
  const Job job = tiny_job();
  const std::int64_t n = 1000;
  const UnitMemory memory = unit_memory(job, {}, 1, {n, n});
  EXPECT_EQ(memory.resident, Bytes(0));
  EXPECT_EQ(memory.streamed, job.weight_element() * n);
  EXPECT_EQ(memory.host_state, Bytes(12 * n));
  EXPECT_EQ(memory.passing_gradient, Bytes(4 * n));
  EXPECT_EQ(memory.waiting_gradient, Bytes(0));
  EXPECT_EQ(memory.host_gradient, job.gradient_wire_element() * n);
  EXPECT_EQ(unit_memory(job, {}, 2, {n, n}).host_gradient, Bytes(4 * n)) << "added up over rounds";
}

TEST(UnitMemory, OfAResidentUnitIsAllOnTheDevice) {
  Job job = tiny_job();
  UnitPlan unit;
  unit.weights = unit.gradients = unit.state = Tier::hbm;
  unit.executor = Executor::gpu;
  const std::int64_t n = 1000;
  EXPECT_EQ(unit_memory(job, unit, 1, {n, n}).resident, Bytes(12 * n));
  EXPECT_EQ(unit_memory(job, unit, 1, {n, n}).waiting_gradient, Bytes(4 * n));
  EXPECT_EQ(unit_memory(job, unit, 1, {n, n}).host_state, Bytes(0));
  job.optimizer.state = StateType::bf16_weights;
  EXPECT_EQ(unit_memory(job, unit, 1, {n, n}).resident, Bytes(6 * n));
  EXPECT_EQ(unit_memory(job, unit, 1, {n, n}).waiting_gradient, Bytes(2 * n));
}

}  // namespace
}  // namespace sluice::planner
