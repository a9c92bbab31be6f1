#include "planner/graph/step_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "planner/layout/laid_out.hpp"
#include "planner/layout/layout.hpp"
#include "planner/plans/random_plan.hpp"
#include "sim/simulate.hpp"
#include "tests/planner/step_jobs.hpp"
#include "tests/planner/task_spans.hpp"

namespace sluice::planner {
namespace {

using test::RoundCosts;
using test::tiny_job;

StepGraph build(const Job& job, const Plan& plan) {
  return build_step_graph(job, plan, RoundCosts());
}

std::set<std::string> ids_of_step(const StepGraph& graph, int step) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (graph.tasks[i].step == step) ids.insert(graph.graph.tasks()[i].id.substr(3));
  }
  return ids;
}

TEST(StepGraph, ThreeStepsAreTheSameTasks) {
  const Job job = tiny_job();
  const StepGraph graph = build(job, uniform_plan(job, UnitPlan{}, 2));
  EXPECT_EQ(graph.tasks.size(), 3 * graph.tasks_per_step);
  EXPECT_EQ(ids_of_step(graph, 1), ids_of_step(graph, 2));
  EXPECT_EQ(ids_of_step(graph, 2), ids_of_step(graph, 3));
}

TEST(StepGraph, EdgesReachBackOneStepAtMostAndRepeat) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Job job = tiny_job(seed % 2 == 0);
    if (seed % 3 == 0) job.optimizer.clip.reset();
    const StepGraph graph = build(job, random_plan(job, seed));
    const std::size_t n = graph.tasks_per_step;
    for (std::size_t i = n; i < 2 * n; ++i) {
      std::set<std::size_t> second, third;
      for (const sim::TaskId before : graph.graph.tasks()[i].after)
        second.insert(index(before) + n);
      for (const sim::TaskId before : graph.graph.tasks()[i + n].after) third.insert(index(before));
      EXPECT_EQ(second, third) << "seed " << seed << " " << graph.graph.tasks()[i].id;
      EXPECT_EQ(graph.graph.tasks()[i].id.substr(3), graph.graph.tasks()[i + n].id.substr(3));
    }
  }
}

TEST(StepGraph, PoolsCountBuffersAndNeverDelayAnything) {
  // On slow links buffers are what a step waits for, chunk by chunk.
  for (const double link : {1e6, 1e7, 1e9}) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Job job = tiny_job(seed % 2 == 0);
      if (seed % 3 == 0) job.gradient_wire = GradientWire::bf16;
      StepGraph graph = build_step_graph(job, random_plan(job, seed), RoundCosts(link));
      const sim::Timeline with = sim::simulate(graph.graph);
      for (std::size_t p = 0; p < graph.graph.pools().size(); ++p) {
        EXPECT_LE(with.pool_peak[p], graph.graph.pools()[p].capacity);
        EXPECT_GT(with.pool_peak[p], Amount(0));
      }
      for (sim::Task& task : graph.graph.mutable_tasks()) {
        task.acquire.clear();
        task.release.clear();
      }
      const sim::Timeline without = sim::simulate(graph.graph);
      for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
        ASSERT_EQ(with.spans[i].start, without.spans[i].start)
            << "seed " << seed << " " << graph.graph.tasks()[i].id;
      }
    }
  }
}

TEST(StepGraph, WeightsOfAStreamedBlockCrossOncePerPassOfARound) {
  const Job job = tiny_job();
  Plan plan = uniform_plan(job, UnitPlan{}, 2);
  plan.weight_buffers = 2;
  plan.prefetch_depth = 1;
  const StepGraph graph = build(job, plan);
  std::int64_t loads = 0;
  for (const StepTask& task : graph.tasks) {
    loads +=
        task.step == 2 && task.kind == TaskKind::load_weights && task.unit > 0 && task.unit < 5;
  }
  // A round makes 8 uses of 4 blocks. The 2 slots carry the last 2 forward blocks over each of the
  // two reversals into backward, and the 2 last backward blocks over the one reversal into the next
  // round's forward.
  EXPECT_EQ(loads, 2 * 8 - 2 * 2 - 2);
}

/// Whether the task `id` comes only after the task `other`, by edges of the graph alone.
bool waits_for(const StepGraph& graph, const std::string& id, const std::string& other) {
  const auto& tasks = graph.graph.tasks();
  const auto find = [&](const std::string& name) {
    const auto at = std::find_if(tasks.begin(), tasks.end(),
                                 [&](const sim::Task& task) { return task.id == name; });
    if (at == tasks.end()) throw std::runtime_error("no task " + name);
    return static_cast<std::size_t>(at - tasks.begin());
  };
  const auto& after = tasks[find(id)].after;
  const std::size_t before = find(other);
  return std::any_of(after.begin(), after.end(),
                     [&](sim::TaskId each) { return index(each) == before; });
}

TEST(StepGraph, AnInputLeavesBeforeItsStreamBufferIsWrittenAgain) {
  const Job job = tiny_job();
  UnitPlan unit;
  unit.keep_tier = Tier::host;
  Plan plan = uniform_plan(job, unit, 1);
  for (const std::int64_t streams : {2, 3}) {
    plan.stream_buffers = streams;
    const StepGraph graph = build(job, plan);
    // What L2 writes comes where the input of the block so many before the next one was.
    EXPECT_EQ(waits_for(graph, "s2/r0/fwd/L2/m0", "s2/r0/save/L1/m0/c0"), streams == 2);
    EXPECT_EQ(waits_for(graph, "s2/r0/fwd/L2/m0", "s2/r0/save/L0/m0/c0"), streams == 3);
  }
}

TEST(StepGraph, RecordsOnTheirWayToTheHostTakeEverySlotInTurn) {
  const Job job = tiny_job();
  UnitPlan unit;
  unit.keep = Keep::all;
  unit.keep_tier = Tier::host;
  Plan plan = uniform_plan(job, unit, 1);
  const std::int64_t micro = plan.micro_batches_per_round;
  plan.stream_buffers = 4;
  plan.activation_buffers = micro;
  EXPECT_TRUE(waits_for(build(job, plan), "s2/r0/fwd/L1/m0", "s2/r0/save/L0/m0/c1"));
  plan.activation_buffers = micro + 1;
  const StepGraph more = build(job, plan);
  EXPECT_FALSE(waits_for(more, "s2/r0/fwd/L1/m0", "s2/r0/save/L0/m0/c1"));
  EXPECT_TRUE(waits_for(more, "s2/r0/fwd/L1/m1", "s2/r0/save/L0/m0/c1"));
}

TEST(StepGraph, RunningSumsComeWhileBlocksThatHaveNoneCompute) {
  const Job job = tiny_job();
  Plan plan = uniform_plan(job, UnitPlan{}, 2);
  for (const std::size_t block : {std::size_t{2}, std::size_t{3}}) {
    plan.units[block].weights = plan.units[block].gradients = Tier::hbm;
  }
  const StepGraph graph = build(job, plan);
  const auto& tasks = graph.graph.tasks();
  // On the lane to the device, L0's sum is ahead of what waits until L1's pass is over.
  const auto place = [&](const std::string& id) {
    return std::find_if(tasks.begin(), tasks.end(),
                        [&](const sim::Task& task) { return task.id == id; }) -
           tasks.begin();
  };
  EXPECT_LT(place("s2/r1/reload/L0/c0"), place("s2/r1/bwd/L2/m2"));
}

TEST(StepGraph, UpdatesWaitForTheNormWhereverItCounts) {
  const Job job = tiny_job();
  const StepGraph graph = build(job, uniform_plan(job, UnitPlan{}, 1));
  const test::TaskSpans spans = test::spans_of(graph);
  for (const char* unit : {"embed", "L0", "L3", "head"}) {
    EXPECT_GE(spans.at(std::string("s2/update/") + unit).start, spans.at("s2/grads").end);
  }
  EXPECT_GE(spans.at("s3/r0/fwd/L2/m0").start, spans.at("s2/update/L2").end);
}

TEST(StepGraph, WithoutClippingAnUpdateMayRunUnderBackward) {
  Job job = tiny_job();
  job.optimizer.clip.reset();
  UnitPlan unit;
  unit.when = When::backward;
  const StepGraph graph = build(job, uniform_plan(job, unit, 1));
  const sim::Timeline timeline = sim::simulate(graph.graph);
  Instant grads, update;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    if (graph.graph.tasks()[i].id == "s2/grads") grads = timeline.spans[i].end;
    if (graph.graph.tasks()[i].id == "s2/update/L3") update = timeline.spans[i].end;
  }
  EXPECT_LT(update, grads);
}

TEST(StepGraph, GradientsThatWaitNowherePassThroughSlots) {
  Job job = tiny_job();
  job.optimizer.clip.reset();
  const auto gradient_bytes = [&job](const UnitPlan& unit, std::int64_t buffers, Arena arena) {
    Plan plan = uniform_plan(job, unit, 1);
    plan.gradient_buffers = buffers;
    const StepGraph graph = build(job, plan);
    Bytes sum{0};
    for (const auto& tensor : graph.tensors) {
      if (tensor.arena == arena && tensor.part == "gradients") sum += tensor.bytes;
    }
    return sum;
  };
  const UnitPlan passes{.gradients = Tier::hbm, .when = When::backward};
  const Bytes embed = job.gradient_element() * unit_padded_size(job.model, 0);
  const std::size_t last = unit_count(job.model) - 1;
  const Bytes ends = std::max(embed, job.gradient_element() * unit_padded_size(job.model, last));
  const Bytes block = job.gradient_element() * unit_padded_size(job.model, 1);
  for (const std::int64_t buffers : {1, 2}) {
    EXPECT_EQ(gradient_bytes(passes, buffers, Arena::device), block * buffers + ends);
    EXPECT_EQ(gradient_bytes(passes, buffers, Arena::host), std::max(block, ends) * buffers);
  }
  const UnitPlan waits{.gradients = Tier::hbm, .when = When::forward};
  EXPECT_GE(gradient_bytes(waits, 1, Arena::device), block * job.model.layers + ends);
  // With one slot each, a gradient is stored when the update of the one before it is over.
  Plan plan = uniform_plan(job, passes, 1);
  plan.gradient_buffers = 1;
  const test::TaskSpans spans = test::spans_of(build(job, plan));
  for (const auto& [unit, before] :
       {std::pair("L3", "head"), std::pair("L2", "L3"), std::pair("embed", "L0")}) {
    EXPECT_GE(spans.at(std::string("s2/r0/store/") + unit + "/c0").start,
              spans.at(std::string("s2/update/") + before).end)
        << unit;
  }
  // In several rounds it waits for the next, and has memory of its own.
  EXPECT_FALSE(passes_gradient(2, passes));
}

TEST(Layout, HoldsForRandomPlans) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Job job = tiny_job(seed % 2 == 0);
    if (seed % 3 == 0) job.compute = ComputeType::fp32;
    if (seed % 5 == 0) job.gradient_wire = GradientWire::bf16;
    const StepGraph graph = build(job, random_plan(job, seed));
    EXPECT_EQ(find_layout_fault(graph, graph.layout), std::nullopt) << "seed " << seed;
  }
}

TEST(Layout, AnyLiveRangeShortenedByOneTaskIsAFault) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Job job = tiny_job(seed % 2 == 0);
    const StepGraph graph = build(job, random_plan(job, seed));
    for (std::size_t i = 0; i < graph.layout.placements.size(); ++i) {
      Layout late = graph.layout;
      late.placements[i].first_task =
          sim::TaskId(static_cast<std::uint32_t>(index(late.placements[i].first_task) + 1));
      EXPECT_TRUE(find_layout_fault(graph, late)) << graph.tensors[i].name;
      Layout early = graph.layout;
      early.placements[i].last_task =
          sim::TaskId(static_cast<std::uint32_t>(index(early.placements[i].last_task) - 1));
      EXPECT_TRUE(find_layout_fault(graph, early)) << graph.tensors[i].name;
    }
  }
}

TEST(Layout, TensorsInUseTogetherMayNotShareBytes) {
  const Job job = tiny_job();
  const StepGraph graph = build(job, uniform_plan(job, UnitPlan{}, 1));
  Layout clash = graph.layout;
  std::size_t workspace = 0, record = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].name == "workspace") workspace = i;
    if (graph.tensors[i].name == "record/L1/m0") record = i;
  }
  clash.placements[record].offset = clash.placements[workspace].offset;
  EXPECT_TRUE(find_layout_fault(graph, clash));
}

TEST(Layout, TransientTensorsShareBytes) {
  const Job job = tiny_job();
  const StepGraph graph = build(job, uniform_plan(job, UnitPlan{}, 1));
  Bytes sum{0};
  for (const StepTensor& tensor : graph.tensors) {
    if (tensor.arena == Arena::device) sum += tensor.bytes;
  }
  EXPECT_LT(graph.layout.device_bytes, sum);
}

/// Records of one round come and go like a stack, and gradients take their place from its top: what
/// is in use at any block is all that the host needs, though records are of several sizes.
TEST(Layout, GradientsOfOneRoundTakeThePlaceOfRecordsOfAnySize) {
  Job job = tiny_job();
  job.model.layers = 12;
  UnitPlan streamed;
  streamed.keep_tier = Tier::host;
  Plan plan = uniform_plan(job, streamed, 1);
  const std::size_t head = plan.units.size() - 1;
  for (std::size_t unit = 1; unit < head; ++unit) {
    plan.units[unit].keep = unit < 6 ? Keep::input : (unit < 9 ? Keep::all : Keep::selective);
  }
  const StepGraph graph = build(job, plan);
  EXPECT_EQ(find_layout_fault(graph, graph.layout), std::nullopt);
  std::map<std::size_t, Bytes> records, gradients;
  Bytes always{0};
  for (const StepTensor& tensor : graph.tensors) {
    if (tensor.arena != Arena::host) continue;
    const auto block = tensor.name.find("/L");
    const bool record = tensor.name.starts_with("record.host/"),
               gradient = tensor.name.starts_with("gradient.host/");
    if (block == std::string::npos || (!record && !gradient)) {
      if (tensor.persistent || gradient) always += tensor.bytes;
      continue;
    }
    (record ? records : gradients)[std::stoul(tensor.name.substr(block + 2))] += tensor.bytes;
  }
  ASSERT_EQ(gradients.size(), 12);
  Bytes most{0};
  for (std::size_t at = 0; at <= 12; ++at) {
    Bytes now = always;
    for (const auto& [block, bytes] : records) now += block < at ? bytes : Bytes(0);
    for (const auto& [block, bytes] : gradients) now += block >= at ? bytes : Bytes(0);
    most = std::max(most, now);
  }
  EXPECT_LE(graph.layout.host_bytes, most + Bytes(16 << 10));
}

TEST(Layout, StateTakesTwelveBytesAParameter) {
  const Job job = tiny_job();
  const StepGraph graph = build(job, uniform_plan(job, UnitPlan{}, 1));
  Bytes state{0};
  for (const StepTensor& tensor : graph.tensors) {
    if (tensor.persistent) state += tensor.bytes;
  }
  std::int64_t padded = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    padded += unit_tensors(job.model, unit).padded_size;
  }
  EXPECT_EQ(state, Bytes(12 * padded));
}

}  // namespace
}  // namespace sluice::planner
