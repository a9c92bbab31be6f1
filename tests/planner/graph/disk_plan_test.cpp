// Tests of optimizer state and gradients that live on the disk: pieces, tasks, and their costs.
#include <gtest/gtest.h>

#include <algorithm>

#include "planner/layout/laid_out.hpp"
#include "planner/layout/layout.hpp"
#include "planner/plans/disk_state.hpp"
#include "planner/requests/phase_memory.hpp"
#include "sim/simulate.hpp"
#include "tests/planner/disk_jobs.hpp"
#include "tests/planner/refusal.hpp"

namespace sluice::planner {
namespace {

using test::all_on_disk;
using test::disk_machine;
using test::padded;
using test::RoundCosts;
using test::tiny_job;

TEST(DiskState, PiecesCoverAUnitAndLieAligned) {
  for (const ComputeType compute : {ComputeType::bf16, ComputeType::fp32}) {
    Job job = tiny_job();
    job.compute = compute;
    const std::int64_t low = compute == ComputeType::bf16 ? 2 : 0;
    EXPECT_EQ(disk_state_bytes(job, 1), Bytes(low + 8));
    Plan plan;
    plan.disk_buffer = Bytes(4ll << 20);
    for (const std::int64_t parameters : {1, 4096, 131072, 131073, 5'000'001}) {
      std::int64_t next = 0;
      Bytes end{0};
      for (const DiskPiece& piece : disk_pieces(job, plan, {.state = Tier::disk}, parameters)) {
        EXPECT_EQ(piece.first, next);
        next += piece.count;
        EXPECT_GE(piece.offset, end);
        EXPECT_EQ(piece.offset.count() % kDiskBlock.count(), 0);
        for (const Bytes at : {piece.moment1, piece.moment2, piece.bytes}) {
          EXPECT_EQ(at.count() % kDiskAlign.count(), 0);
        }
        EXPECT_GE(piece.moment1, Bytes(low * piece.count));
        EXPECT_GE(piece.moment2, piece.moment1 + Bytes(4 * piece.count));
        EXPECT_GE(piece.bytes, piece.moment2 + Bytes(4 * piece.count));
        EXPECT_LE(piece.bytes, plan.disk_buffer + kDiskAlign * 3);
        EXPECT_EQ(piece.gradient_bytes, Bytes(0));
        end = piece.offset + piece.bytes;
      }
      EXPECT_EQ(next, parameters);
      next = 0;
      end = Bytes(0);
      const Bytes weight = job.weight_element();
      const UnitPlan all{.weights = Tier::disk, .gradients = Tier::disk, .state = Tier::disk};
      for (const DiskPiece& piece : disk_pieces(job, plan, all, parameters)) {
        next += piece.count;
        EXPECT_GE(piece.weights_offset, end);
        EXPECT_EQ(piece.weights_offset.count() % kDiskBlock.count(), 0);
        EXPECT_EQ(piece.weights_bytes.count() % kDiskAlign.count(), 0);
        EXPECT_EQ(piece.weights(), piece.gradient() + piece.gradient_bytes);
        EXPECT_GE(piece.weights_bytes, weight * piece.count);
        EXPECT_EQ(piece.weights_low > Bytes(0), compute == ComputeType::fp32);
        EXPECT_LE(piece.buffer_bytes(), plan.disk_buffer + kDiskAlign * 6);
        end = piece.weights_offset + piece.weights_bytes;
      }
      EXPECT_EQ(next, parameters);
      next = 0;
      end = Bytes(0);
      const UnitPlan waits{.gradients = Tier::disk, .state = Tier::disk};
      for (const DiskPiece& piece : disk_pieces(job, plan, waits, parameters)) {
        next += piece.count;
        EXPECT_GE(piece.gradient_offset, end);
        EXPECT_EQ(piece.gradient_offset.count() % kDiskBlock.count(), 0);
        EXPECT_EQ(piece.gradient().count() % kDiskAlign.count(), 0);
        EXPECT_EQ(piece.gradient_bytes.count() % kDiskAlign.count(), 0);
        EXPECT_GE(piece.gradient_bytes, Bytes(4 * piece.count));
        EXPECT_LE(piece.buffer_bytes(), plan.disk_buffer + kDiskAlign * 4);
        end = piece.gradient_offset + piece.gradient_bytes;
      }
      EXPECT_EQ(next, parameters);
    }
  }
}

TEST(DiskPlan, PlansWithoutDiskKeepHashGraphAndFile) {
  const Job job = tiny_job();
  const Plan plan = all_on_disk(job, Tier::host);
  Plan other = plan;
  other.disk_buffers = 7;
  EXPECT_EQ(plan_hash(plan), plan_hash(other));
  EXPECT_EQ(build_step_graph(job, plan, RoundCosts()).graph.lanes().size(), 5u);
  PlanFile file;
  file.plan = plan;
  EXPECT_EQ(to_json_text(file).find("disk"), std::string::npos);
  file.plan = all_on_disk(job);
  file.plan.disk_buffers = 5;
  file.plan.disk_buffer = Bytes(1 << 20);
  EXPECT_EQ(plan_file_from_json(to_json_text(file), "test").plan, file.plan);
  EXPECT_NE(plan_hash(file.plan), plan_hash(all_on_disk(job)));
}

TEST(DiskPlan, WhatCannotBeIsRefusedByField) {
  const Job job = tiny_job();
  Plan plan = all_on_disk(job);
  plan.disk_buffers = 0;
  EXPECT_REFUSED(validate(plan, job), "plan: disk_buffers");
  plan = all_on_disk(job);
  plan.disk_buffer = Bytes(1);
  EXPECT_REFUSED(validate(plan, job), "plan: disk_buffer_bytes");
  plan = all_on_disk(job);
  plan.units[2].executor = Executor::gpu;
  plan.units[2].when = When::after;
  EXPECT_REFUSED(validate(plan, job), "layers[2].state: disk does not go with executor gpu");
  plan = all_on_disk(job, Tier::host, Tier::disk);
  EXPECT_REFUSED(validate(plan, job), "layers[0].gradients: disk needs state disk");
  plan = all_on_disk(job, Tier::disk, Tier::disk);
  plan.units[1].weights = Tier::disk;
  validate(plan, job);
  plan.units[1].state = plan.units[1].gradients = Tier::host;
  EXPECT_REFUSED(validate(plan, job), "layers[1].weights: disk needs state disk");
  Job unclipped = job;
  unclipped.optimizer.clip.reset();
  plan = all_on_disk(job, Tier::disk, Tier::disk);
  plan.units[1].when = When::backward;
  EXPECT_REFUSED(validate(plan, unclipped), "layers[1].gradients: disk does not go with when");
  ResolvedMachine machine = disk_machine();
  machine.profile.disk_write = {};
  const Predictor predictor(job, machine, {});
  EXPECT_REFUSED(predictor.predict(all_on_disk(job)), "disk_write has no rate");
}

TEST(DiskPlan, MemoryTablesMoveWhatIsOnTheDisk) {
  const Job job = tiny_job();
  const Predictor predictor(job, disk_machine(), {});
  const Memory disk = predictor.predict(all_on_disk(job)).prediction.memory;
  const Memory host = predictor.predict(all_on_disk(job, Tier::host)).prediction.memory;
  const Memory both = predictor.predict(all_on_disk(job, Tier::disk, Tier::disk)).prediction.memory;
  EXPECT_EQ(at(host, Tier::disk).peak, Bytes(0));
  EXPECT_GE(at(disk, Tier::disk).peak, Bytes(10 * padded(job)));
  const auto part = [](const Memory& memory, const std::string& name) {
    for (const auto& [part, bytes] : at(memory, Tier::host).parts) {
      if (part == name) return bytes;
    }
    return Bytes(0);
  };
  EXPECT_EQ(part(host, "weights") - part(disk, "weights"), Bytes(2 * padded(job)));
  EXPECT_EQ(part(host, "state"), Bytes(8 * padded(job)));
  EXPECT_EQ(part(disk, "state"), Bytes(0));
  EXPECT_GT(part(disk, "disk buffers"), Bytes(0));
  EXPECT_EQ(part(disk, "gradients"), Bytes(4 * padded(job)));
  EXPECT_EQ(part(both, "gradients"), Bytes(0));
  EXPECT_GE(at(both, Tier::disk).peak, Bytes(14 * padded(job)));
  const Memory all =
      predictor.predict(all_on_disk(job, Tier::disk, Tier::disk, Tier::disk)).prediction.memory;
  EXPECT_EQ(part(all, "weights"), Bytes(0));
  EXPECT_GE(at(all, Tier::disk).peak, at(both, Tier::disk).peak + Bytes(2 * padded(job)));
  Bytes there{0};
  for (const auto& [name, bytes] : at(all, Tier::disk).parts) {
    if (name == "weights") there += bytes;
  }
  EXPECT_GE(there, Bytes(2 * padded(job)));
  for (const Memory* memory : {&disk, &host, &both, &all}) {
    for (const TierMemory& tier : *memory) {
      Bytes sum{0};
      for (const auto& [name, bytes] : tier.parts) sum += bytes;
      EXPECT_EQ(sum, tier.peak);
    }
  }
}

TEST(DiskPlan, ADiskThatIsTheBoundIsBusyAllTheTime) {
  const Job job = tiny_job();
  const Predictor predictor(job, disk_machine(100e3, 50e3), {});
  const Prediction made = predictor.predict(all_on_disk(job)).prediction;
  const double written = 10.0 * static_cast<double>(padded(job));
  EXPECT_GE(to_seconds(made.step).count(), written / 50e3);
  for (const auto& [lane, share] : made.busy) {
    if (lane == "disk-write") {
      EXPECT_GT(share, 0.9);
    }
  }
}

TEST(DiskPlan, ALimitThatReadsAndWritesShareSlowsBoth) {
  const Job job = tiny_job();
  const ResolvedMachine apart = disk_machine(100e3, 100e3);
  ResolvedMachine shared = apart;
  shared.profile.disk_both = test::measured(100e3);
  const Plan plan = all_on_disk(job);
  const double free = to_seconds(Predictor(job, apart, {}).score(plan).step).count();
  const double both = to_seconds(Predictor(job, shared, {}).score(plan).step).count();
  EXPECT_GT(both, 1.5 * free);
  EXPECT_LT(both, 2.1 * free);
}

TEST(DiskPlan, BothAtOnceMoveWhatWasMeasuredWhereWritingAloneIsFaster) {
  const Job job = tiny_job();
  Plan plan = all_on_disk(job);
  plan.disk_buffers = 4;
  const double moved = 20.0 * static_cast<double>(padded(job));
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
    ResolvedMachine machine = disk_machine(70e3, 120e3, device);
    machine.hbm = machine.host = Bytes(8ll << 30);
    machine.profile.disk_both = test::measured(100e3);
    const Predictor predictor(job, machine, {});
    const double together = moved / to_seconds(predictor.score(plan).step).count();
    EXPECT_LT(together, 1.01 * 100e3);
    EXPECT_GT(together, 0.93 * 100e3);  // The part that does not overlap runs alone.
  }
}

}  // namespace
}  // namespace sluice::planner
