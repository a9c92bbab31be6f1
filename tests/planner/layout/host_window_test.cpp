#include "planner/layout/host_window.hpp"

#include <gtest/gtest.h>

#include <set>

#include "planner/catalogue/catalogue.hpp"
#include "planner/layout/laid_out.hpp"
#include "planner/plans/random_plan.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

StepGraph windowed_graph(std::uint64_t seed) {
  Job job = test::tiny_job(seed % 2 == 0);
  if (seed % 3 == 0) job.gradient_wire = GradientWire::bf16;
  if (seed % 5 == 0) job.optimizer.clip.reset();
  return build_step_graph(job, random_plan(job, seed), test::RoundCosts());
}

StepGraph streamed_graph(GradientWire wire = GradientWire::fp32) {
  Job job = test::tiny_job();
  job.gradient_wire = wire;
  return build_step_graph(job, uniform_plan(job, UnitPlan{}, 2), test::RoundCosts());
}

TEST(HostWindow, NothingInFlightSharesBytesWhateverThePlanAndTheWindow) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const StepGraph graph = windowed_graph(seed);
    const Bytes least = HostWindow::least(graph);
    for (const Bytes most : {least, least + Bytes(5000), least * 2, graph.layout.host_bytes * 4}) {
      if (most < least) continue;
      const HostWindow window(graph, most);
      EXPECT_LE(window.bytes(), most) << "seed " << seed;
      EXPECT_EQ(find_window_fault(graph, window), std::nullopt) << "seed " << seed;
    }
  }
}

TEST(HostWindow, PartsFollowEachOtherAndHoldEveryAccess) {
  const StepGraph graph = streamed_graph();
  const HostWindow window(graph, HostWindow::least(graph) * 2);
  Bytes end{0};
  for (const WindowPart& part : window.parts()) {
    EXPECT_EQ(part.offset, end);
    EXPECT_EQ(part.offset.count() % 256, 0);
    end += part.bytes;
  }
  EXPECT_EQ(end, window.bytes());
}

/// A window needs the bytes of one load, one store and one update, not those of the model.
TEST(HostWindow, LeastIsTheLargestTaskOfEachLaneAndNotTheModel) {
  const StepGraph graph = streamed_graph();
  Bytes load{0}, store{0}, update{0}, shared{0};
  std::set<TensorIndex> counted;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const StepTask& task = graph.tasks[graph.tasks_per_step + i];
    Bytes sum{0};
    for (const Access& access : task.accesses) {
      const StepTensor& tensor = graph.tensors[static_cast<std::size_t>(access.tensor)];
      if (tensor.arena != Arena::host) continue;
      if (tensor.part == "tokens" || tensor.part == "workspace") {
        if (counted.insert(access.tensor).second) shared += tensor.bytes;
      } else {
        sum += access.bytes;
      }
    }
    if (task.lane == LaneKind::h2d) load = std::max(load, sum);
    if (task.lane == LaneKind::d2h) store = std::max(store, sum);
    if (task.lane == LaneKind::cpu) update = std::max(update, sum);
  }
  const Bytes sum = load + store + update + shared;
  EXPECT_GE(HostWindow::least(graph), sum);
  EXPECT_LT(HostWindow::least(graph), sum + Bytes(8 * 256));  // Alignment alone.
  EXPECT_LT(sum * 2, graph.layout.host_bytes);
}

TEST(HostWindow, MoreThanAStepUsesIsNotTaken) {
  const StepGraph graph = streamed_graph();
  const Bytes all = HostWindow(graph, graph.layout.host_bytes * 100).bytes();
  EXPECT_EQ(HostWindow(graph, all).bytes(), all);
  EXPECT_EQ(HostWindow(graph, all * 2).bytes(), all);
  EXPECT_LT(HostWindow(graph, all - Bytes(1)).bytes(), all);
}

TEST(HostWindow, OperandsOfAnUpdateRotateTogether) {
  const StepGraph graph = streamed_graph(GradientWire::bf16);
  const HostWindow window(graph, HostWindow::least(graph) * 2);
  EXPECT_EQ(window.gradient(), GradientWire::bf16);
  const Bytes high = window.part(WindowUse::high).offset;
  const Bytes moment = window.part(WindowUse::moment2).offset;
  std::size_t updates = 0;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const StepTask& task = graph.tasks[graph.tasks_per_step + i];
    if (task.kind != TaskKind::update) continue;
    ++updates;
    std::int64_t element = -1, moment_element = -1;
    for (std::size_t j = 0; j < task.accesses.size(); ++j) {
      const Bytes at = window.offset(i, j);
      if (task.accesses[j].role == Role::weights) element = (at - high).count() / 2;
      if (task.accesses[j].role == Role::moment2) moment_element = (at - moment).count() / 4;
    }
    EXPECT_GE(element, 0);
    EXPECT_EQ(element, moment_element);
  }
  EXPECT_EQ(updates, 6U);
}

TEST(HostWindow, PiecesOfARecordLieAsInTheRecord) {
  Job job = test::tiny_job();
  job.seq_len = 256;
  UnitPlan unit;
  unit.keep = Keep::all;
  unit.keep_tier = Tier::host;
  Plan plan = uniform_plan(job, unit, 1);
  plan.copy_chunk = Bytes(4096);
  const StepGraph graph = build_step_graph(job, plan, test::RoundCosts(1e9));
  const HostWindow window(graph, HostWindow::least(graph) + Bytes(1 << 14));
  const WindowPart& records = window.part(WindowUse::loaded_record);
  ASSERT_GT(window.record_bytes(), Bytes(8192));
  EXPECT_EQ(records.bytes.count() % window.record_bytes().count(), 0);
  std::size_t later_pieces = 0;
  for (std::size_t i = 0; i < graph.tasks_per_step; ++i) {
    const StepTask& task = graph.tasks[graph.tasks_per_step + i];
    if (task.kind != TaskKind::load_activation) continue;
    for (std::size_t j = 0; j < task.accesses.size(); ++j) {
      const Access& access = task.accesses[j];
      if (access.role != Role::source) continue;
      const Bytes at = window.offset(i, j) - records.offset;
      EXPECT_EQ(at.count() % window.record_bytes().count(), access.offset.count());
      EXPECT_LE(at + access.bytes, records.bytes);
      later_pieces += access.offset > Bytes(0) ? 1 : 0;
    }
  }
  EXPECT_GT(later_pieces, 4U);
}

/// Sizes beyond 2^31 elements and 2^42 bytes, in a graph that allocates no such memory.
TEST(HostWindow, Llama405BGoesThroughTheLargestUpdateOfItsUnits) {
  Job job = test::tiny_job();
  job.model = find_model("llama-3.1-405b");
  job.seq_len = 4096;
  job.batch_size = 2;
  job.loss_chunk = 1024;
  Plan plan = uniform_plan(job, UnitPlan{}, 1);
  plan.copy_chunk = Bytes(256ll << 20);
  const StepGraph graph = build_step_graph(job, plan, test::RoundCosts());
  const std::int64_t block = unit_tensors(job.model, 1).padded_size;
  const std::int64_t embed = unit_tensors(job.model, 0).padded_size;
  EXPECT_GT(block, std::int64_t{1} << 31);
  EXPECT_GT(block, embed);
  EXPECT_GT(graph.layout.host_bytes.count(), 12 * 405'000'000'000);
  // An update of a block, and a chunk each way.
  const Bytes least = HostWindow::least(graph);
  EXPECT_GE(least.count(), 16 * block + (std::int64_t{512} << 20));
  EXPECT_LT(least.count(), 16 * block + (std::int64_t{513} << 20));
  const HostWindow window(graph, least * 2);
  EXPECT_EQ(find_window_fault(graph, window), std::nullopt);
  EXPECT_GT(window.bytes().count(), least.count() * 3 / 2);
}

/// Test of the check itself: stores of half the units move to a lane of their own, and nothing
/// orders them.
TEST(HostWindow, AFaultIsNamed) {
  const StepGraph graph = streamed_graph();
  const HostWindow window(graph, HostWindow::least(graph));
  StepGraph other = graph;
  const auto tasks = other.graph.mutable_tasks();
  sim::LaneId elsewhere{};
  for (std::size_t i = 0; i < other.tasks.size(); ++i) {
    if (other.tasks[i].lane == LaneKind::launch) elsewhere = tasks[i].lane;
    tasks[i].after.clear();
  }
  for (std::size_t i = 0; i < other.tasks.size(); ++i) {
    if (other.tasks[i].kind != TaskKind::store_gradient || other.tasks[i].unit % 2 == 0) continue;
    other.tasks[i].lane = LaneKind::launch;
    tasks[i].lane = elsewhere;
  }
  const auto fault = find_window_fault(other, window);
  ASSERT_TRUE(fault);
  EXPECT_NE(fault->find("/store/"), std::string::npos) << *fault;
}

}  // namespace
}  // namespace sluice::planner
