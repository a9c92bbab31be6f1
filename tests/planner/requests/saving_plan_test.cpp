#include "planner/requests/saving_plan.hpp"

#include <gtest/gtest.h>

#include "planner/models/shape.hpp"
#include "planner/policies/run_job.hpp"

namespace sluice::planner {
namespace {

/// A run of 100 steps of 2 s on a machine whose disk writes 1 GB/s and whose host memory moves 100
/// GB/s.
struct SavedRun {
  RunConfig config;
  Job job;
  Prediction prediction;
  ResolvedMachine machine;

  SavedRun() {
    config.model = "bytes-2m";
    config.seq_len = 32;
    config.batch_size = 4;
    config.steps = 100;
    job = to_job(config);
    prediction.parameters = parameter_count(job.model);
    prediction.step = std::chrono::seconds(2);
    at(prediction.memory, Tier::host).peak = 1_GB;
    at(prediction.memory, Tier::host).capacity = 4_GB;
    machine.profile.device = DeviceKind::cuda;
    machine.profile.disk_write.value = BytesPerSecond(1e9);
    machine.profile.dram.value = BytesPerSecond(100e9);
  }
  [[nodiscard]] SavingPlan plan(std::optional<Bytes> available = std::nullopt) const {
    return plan_saving(config, job, prediction, machine, available);
  }
  [[nodiscard]] Seconds write() const {
    return Seconds(12e-9 * static_cast<double>(prediction.parameters));
  }
  [[nodiscard]] Seconds copy(Bytes snapshot) const {
    return Seconds(2e-11 * static_cast<double>(snapshot.count()));
  }
};

TEST(SavingPlan, OneAtTheEndTakesItsBytesOverTheDisksRate) {
  const SavedRun run;
  const SavingPlan plan = run.plan();
  EXPECT_EQ(plan.checkpoint, Bytes(12 * run.prediction.parameters));
  EXPECT_EQ(plan.saves, 0);
  EXPECT_FALSE(plan.background());
  EXPECT_EQ(plan.disk, plan.checkpoint);
  EXPECT_DOUBLE_EQ(plan.write.count(), run.write().count());
}

TEST(SavingPlan, InTheBackgroundTrainingWaitsForTheCopyAlone) {
  SavedRun run;
  run.config.save_every = 10;
  const SavingPlan plan = run.plan();
  EXPECT_EQ(plan.saves, 9);  // After steps 10 to 90; the one after step 100 is the run's end.
  ASSERT_TRUE(plan.background());
  EXPECT_GE(plan.snapshot, plan.checkpoint);  // Padding is copied too.
  EXPECT_DOUBLE_EQ(plan.stall.count(), run.copy(plan.snapshot).count());
  EXPECT_DOUBLE_EQ(plan.write.count(), (run.write() + run.copy(plan.snapshot)).count());
  Prediction with = run.prediction;
  add_snapshot(with, plan);
  EXPECT_EQ(at(with.memory, Tier::host).peak, 1_GB + plan.snapshot);
}

TEST(SavingPlan, ASaveThatComesBeforeTheLastIsWrittenWaitsForIt) {
  SavedRun run;
  run.config.save_every = 1;
  run.machine.profile.disk_write.value = BytesPerSecond(1e6);
  const SavingPlan plan = run.plan();
  EXPECT_DOUBLE_EQ(plan.stall.count(), (run.copy(plan.snapshot) + plan.write - Seconds(2)).count());
}

TEST(SavingPlan, WithoutRoomForASnapshotTrainingStandsStillForTheWrite) {
  SavedRun run;
  run.config.save_every = 10;
  const Bytes snapshot = run.plan().snapshot;
  at(run.prediction.memory, Tier::host).capacity = 1_GB + snapshot;
  EXPECT_TRUE(run.plan().background());
  at(run.prediction.memory, Tier::host).capacity = 1_GB + snapshot - Bytes(1);
  EXPECT_FALSE(run.plan().background());
  EXPECT_DOUBLE_EQ(run.plan().stall.count(), run.write().count());
  at(run.prediction.memory, Tier::host).capacity = 4_GB;
  EXPECT_TRUE(run.plan(1_GB + snapshot).background());
  EXPECT_FALSE(run.plan(1_GB).background());  // With what the system has left.
}

TEST(SavingPlan, TheDiskHoldsWhatIsKeptAndTheOneBeingWritten) {
  SavedRun run;
  run.config.save_every = 10;
  EXPECT_EQ(run.plan().disk, run.plan().checkpoint * 10);
  run.config.keep_last = 2;
  EXPECT_EQ(run.plan().disk, run.plan().checkpoint * 3);
  run.config.keep_best = true;
  EXPECT_EQ(run.plan().kept, 3);
  EXPECT_EQ(run.plan().disk, run.plan().checkpoint * 4);
}

}  // namespace
}  // namespace sluice::planner
