// Tests of the order of transfers of state, gradients and weights between the disk and the host.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "planner/layout/laid_out.hpp"
#include "planner/layout/layout.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/requests/phase_memory.hpp"
#include "tests/planner/disk_jobs.hpp"
#include "tests/planner/task_spans.hpp"

namespace sluice::planner {
namespace {

using test::all_on_disk;
using test::pieced_job;
using test::random_disk_plan;
using test::RoundCosts;
using test::spans_of;
using test::TaskSpans;
using test::tiny_job;

/// The parts of a transfer's id, `before`UNIT`between`PIECE[/...].
struct TransferId {
  std::string unit;
  std::string rest;  ///< What follows `between`.
  std::string piece;
};

/// The parts of a transfer's id; none where `id` is another task's.
std::optional<TransferId> transfer_of(const std::string& id, const std::string& before,
                                      const std::string& between) {
  const auto at = id.find(between);
  if (!id.starts_with(before) || at == id.npos) return std::nullopt;
  const std::string rest = id.substr(at + between.size());
  return TransferId{id.substr(before.size(), at - before.size()), rest,
                    rest.substr(0, rest.find('/'))};
}

TEST(DiskPlan, LayoutHoldsAndEveryByteThatComesGoesBack) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Job job = seed % 4 == 3 ? pieced_job() : tiny_job(seed % 2 == 0);
    if (seed % 3 == 0) job.compute = ComputeType::fp32;
    if (seed % 5 == 0) job.gradient_wire = GradientWire::bf16;
    if (seed % 2 == 1) job.optimizer.clip.reset();
    const Plan plan = random_disk_plan(job, seed, seed * 2654435761u >> 3);
    const StepGraph graph = build_step_graph(job, plan, RoundCosts());
    EXPECT_EQ(find_layout_fault(graph, graph.layout), std::nullopt) << "seed " << seed;
    // Bytes by unit of each kind of transfer in one step.
    std::map<TaskKind, std::map<int, std::int64_t>> moved;
    std::map<int, std::int64_t> updated;
    for (const StepTask& task : graph.tasks) {
      if (task.step != 2) continue;
      if (task.kind == TaskKind::update) updated[task.unit] += task.parameters;
      moved[task.kind][task.unit] += task.bytes.count();
    }
    auto& read = moved[TaskKind::read_state];
    auto& gradients_read = moved[TaskKind::read_gradient];
    auto& weights_read = moved[TaskKind::read_weights];
    auto& weights_written = moved[TaskKind::write_weights];
    EXPECT_EQ(read, moved[TaskKind::write_state]) << "seed " << seed;
    EXPECT_EQ(gradients_read, moved[TaskKind::write_gradient]) << "seed " << seed;
    for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
      const int index = static_cast<int>(unit);
      const std::int64_t size = unit_tensors(job.model, unit).padded_size;
      EXPECT_EQ(updated[index], size);
      const bool disk = plan.units[unit].state == Tier::disk;
      EXPECT_EQ(read.contains(index), disk);
      EXPECT_EQ(gradients_read.contains(index), plan.units[unit].gradients == Tier::disk);
      if (disk) {
        EXPECT_GE(read[index], disk_state_bytes(job, size).count());
      }
      const bool weights = plan.units[unit].weights == Tier::disk;
      EXPECT_EQ(weights_written.contains(index), weights);
      if (!weights) continue;
      EXPECT_GE(weights_written[index], (job.weight_element() * size).count());
      // Weights are read for their update, and for one or two passes of every round.
      const bool block = unit > 0 && unit + 1 < plan.units.size();
      const std::int64_t most = 1 + plan.rounds * (block ? 2 : 1);
      EXPECT_EQ(weights_read[index] % weights_written[index], 0);
      EXPECT_LE(weights_read[index], most * weights_written[index]);
      EXPECT_GE(weights_read[index], 2 * weights_written[index]);
    }
  }
}

TEST(DiskPlan, APieceIsReadAfterItsLastWriteAndUpdatedBetween) {
  const Job job = pieced_job();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const StepGraph graph = build_step_graph(job, random_disk_plan(job, seed, ~0ull), RoundCosts());
    const TaskSpans spans = spans_of(graph);
    int pieces = 0;
    for (const auto& [id, span] : spans) {
      const std::string step = id.substr(0, 2);
      const auto read = transfer_of(id, step + "/state/", "/read/");
      if (!read || step == "s1") continue;
      const auto write = [&](char number) {
        return spans.at(std::string{'s', number} + "/state/" + read->unit + "/write/" + read->rest);
      };
      EXPECT_GE(span.start, write(static_cast<char>(id[1] - 1)).end) << id;
      const auto update = spans.at(step + "/update/" + read->unit + "/" + read->piece);
      EXPECT_GE(update.start, span.end) << id;
      EXPECT_GE(write(id[1]).start, update.end) << id;
      ++pieces;
    }
    const Plan plan = random_disk_plan(job, seed, ~0ull);
    EXPECT_EQ(pieces > 0, uses_disk(plan));
  }
}

TEST(DiskPlan, ReadsRunAheadOfTheNorm) {
  const Job job = tiny_job();
  const StepGraph graph = build_step_graph(job, all_on_disk(job), RoundCosts());
  const TaskSpans spans = spans_of(graph);
  EXPECT_LT(spans.at("s2/state/embed/read/p0/c0").end, spans.at("s2/grads").end);
  EXPECT_GE(spans.at("s2/update/embed/p0").start, spans.at("s2/grads").end);
}

TEST(DiskPlan, AGradientWaitsThereForTheNormAndComesBackWithItsState) {
  const Job job = pieced_job();
  Plan plan = all_on_disk(job, Tier::disk, Tier::disk);
  plan.disk_buffer = kDiskBlock;
  const StepGraph graph = build_step_graph(job, plan, RoundCosts());
  for (const StepTask& task : graph.tasks) EXPECT_NE(task.kind, TaskKind::load_gradient);
  const TaskSpans spans = spans_of(graph);
  int pieces = 0;
  for (const auto& [id, written] : spans) {
    const auto write = transfer_of(id, "s2/gradient/", "/write/");
    if (!write) continue;
    const auto& [unit, rest, piece] = *write;
    EXPECT_GE(written.start, spans.at("s2/r0/store/" + unit + "/" + rest).end) << id;
    const auto read = spans.at("s2/gradient/" + unit + "/read/" + rest);
    EXPECT_GE(read.start, written.end) << id;
    EXPECT_GE(spans.at("s2/update/" + unit + "/" + piece).start, read.end) << id;
    ++pieces;
  }
  EXPECT_GT(pieces, static_cast<int>(plan.units.size()));
}

TEST(DiskPlan, WeightsThereComeAheadOfTheirPassAndAfterTheirLastWrite) {
  Job job = pieced_job();
  for (const ComputeType compute : {ComputeType::bf16, ComputeType::fp32}) {
    job.compute = compute;
    Plan plan = all_on_disk(job, Tier::disk, Tier::host, Tier::disk);
    plan.disk_buffer = kDiskBlock;
    const StepGraph graph = build_step_graph(job, plan, RoundCosts());
    const TaskSpans spans = spans_of(graph);
    const bool both = compute == ComputeType::fp32;
    const std::string last = both ? "/low" : "";
    int pieces = 0;
    for (const auto& [id, written] : spans) {
      const auto write = transfer_of(id, "s1/weights/", "/write/");
      if (!write) continue;
      const auto& [unit, rest, piece] = *write;
      EXPECT_GE(written.start, spans.at("s1/update/" + unit + "/" + piece).end) << id;
      for (const std::string pass : {"fwd", "bwd"}) {
        const auto read = spans.find("s2/r0/weights/" + unit + "/" + pass + "/" + rest);
        if (read == spans.end()) continue;
        EXPECT_GE(read->second.start, written.end) << id;
        const auto load = spans.at("s2/r0/load/" + unit + "/" + pass + "/" + piece + last + "/c0");
        EXPECT_GE(load.start, read->second.end) << id;
        const std::string compute_id = (unit == "head" ? "loss" : pass + "/" + unit) + "/m0";
        EXPECT_GE(spans.at("s2/r0/" + compute_id).start, load.end) << id;
        ++pieces;
      }
    }
    EXPECT_GT(pieces, static_cast<int>(plan.units.size()));
  }
}

TEST(DiskPlan, ASumThatWaitsThereComesBackBeforeALaterRoundAddsToIt) {
  Job job = pieced_job();
  job.gradient_wire = GradientWire::bf16;
  Plan plan = all_on_disk(job, Tier::disk, Tier::disk);
  plan.rounds = job.micro_batches();
  plan.micro_batches_per_round = 1;
  ASSERT_GT(plan.rounds, 1);
  plan.disk_buffer = kDiskBlock;
  const StepGraph graph = build_step_graph(job, plan, RoundCosts());
  const TaskSpans spans = spans_of(graph);
  std::map<std::string, Bytes> moved;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    moved[graph.graph.tasks()[i].id] = graph.tasks[i].bytes;
  }
  int pieces = 0;
  for (const auto& [id, written] : spans) {
    // The id has the round, one digit, and then the rest of the id without it.
    const auto write = transfer_of(id, id.substr(0, 5) + "/gradient/", "/write/");
    if (!id.starts_with("s2/r") || !write) continue;
    const std::string &unit = write->unit, &rest = write->rest;
    const std::string round = id.substr(3, 2), next = "r" + std::to_string(round[1] - '0' + 1);
    EXPECT_GE(written.start, spans.at("s2/" + round + "/store/" + unit + "/" + rest).end) << id;
    const std::string read = "s2/" + round + "/gradient/" + unit + "/read/" + rest;
    EXPECT_GE(spans.at(read).start, written.end) << id;
    EXPECT_EQ(moved.at(read), moved.at(id));
    const std::string back = "s2/" + next + "/reload/" + unit + "/" + rest;
    EXPECT_GE(spans.at(back).start, spans.at(read).end) << id;
    // fp32 as long as it is added to.
    const std::string last = "s2/gradient/" + unit + "/write/" + rest;
    EXPECT_GE(moved.at(id), moved.at(last) * 2 - kDiskAlign) << id;
    ++pieces;
  }
  EXPECT_GT(pieces,
            static_cast<int>(plan.units.size() * static_cast<std::size_t>(plan.rounds - 1)));
  // What a step writes is what wear counts.
  Bytes written{0};
  for (const StepTask& task : graph.tasks) {
    if (task.step == 2 && task.lane == LaneKind::disk_write) written += task.bytes;
  }
  const Bytes worn = ssd_wear(job, plan, 0).written_a_step;
  EXPECT_GE(written, worn);
  EXPECT_LE(written, worn + kDiskAlign * static_cast<std::int64_t>(8 * plan.rounds * pieces));
}

}  // namespace
}  // namespace sluice::planner
