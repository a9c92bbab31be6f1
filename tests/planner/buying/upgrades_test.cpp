// Tests of orders that leave a machine whose parts go together, and of what a run needs besides its
// steps.
#include "planner/buying/upgrades.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/validated_case.hpp"
#include "planner/requests/phase_memory.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

TEST(PartChanges, AllCanBeBuiltAndReadBack) {
  for (const Build& build : builds()) {
    for (const PartChange& change : part_changes({.parts = build.parts})) {
      EXPECT_NO_THROW(check_parts(change.parts)) << build.name << ": " << change.what;
      const CountedParts machine = change.machine();
      EXPECT_FALSE(machine == CountedParts{.parts = build.parts})
          << build.name << ": " << change.what;
      EXPECT_EQ(find_counted_parts(to_text(machine)), machine) << change.what;
      EXPECT_FALSE(change.setting.empty());
    }
  }
}

TEST(PartChanges, SayWhatTwoMoreModulesDoToTheSpeed) {
  const auto changes = part_changes(find_counted_parts("rtx-4090 + 2x32 GiB DDR5-5600").value());
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes.front().what,
            "+2 DIMMs: 4x32 GiB DDR5-5600 at 3600 MT/s instead of 2x32 GiB DDR5-5600 at 5600 MT/s");
  EXPECT_EQ(changes.front().setting, "--ram \"4x32 GiB DDR5-5600\"");
}

/// A machine of 1 TB and a run of `tiny_shape` that saves once, at its end.
struct PhasesOfTiny {
  PhasesOfTiny() {
    job.model = test::tiny_shape();
    machine.profile.disk.value = 1e12;
    at(step, Tier::hbm) = {.peak = Bytes(10), .capacity = Bytes(20), .parts = {}};
    at(step, Tier::host) = {.peak = Bytes(100), .capacity = Bytes(1 << 30), .parts = {}};
    at(step, Tier::disk) = {.peak = Bytes(1000), .capacity = Bytes(1 << 20), .parts = {}};
    saving.checkpoint = saving.disk = checkpoint_bytes(job);
    saving.kept = 1;
  }
  [[nodiscard]] PhaseMemory phases() const { return phase_memory(job, step, machine, saving); }
  Job job;
  Memory step;
  ResolvedMachine machine;
  SavingPlan saving;
};

TEST(PhaseMemory, EveryPhaseHoldsTheArenas) {
  const PhasesOfTiny tiny;
  const PhaseMemory memory = tiny.phases();
  EXPECT_EQ(at(memory, Phase::step, Tier::hbm).margin(), Bytes(10));
  EXPECT_EQ(at(memory, Phase::load, Tier::hbm).peak, Bytes(10));
  EXPECT_EQ(at(memory, Phase::step, Tier::host).peak, Bytes(100));
  EXPECT_EQ(checkpoint_bytes(tiny.job), Bytes(12 * parameter_count(tiny.job.model)));
  Job small = tiny.job;
  small.optimizer.state = StateType::bf16;
  EXPECT_EQ(checkpoint_bytes(small), Bytes(8 * parameter_count(tiny.job.model)));
  small.optimizer.state = StateType::int8;
  const auto parameters = static_cast<double>(parameter_count(tiny.job.model));
  // A byte each of m and v, and a scale of four for each 256; the last of both are rounded up.
  EXPECT_NEAR(static_cast<double>(checkpoint_bytes(small).count()),
              (4 + 2 * 260 / 256.0) * parameters, 2 * (260 + 64));
}

TEST(PhaseMemory, TheShareOfAProcessOnAGpuHasRoomForPiecesOfState) {
  PhasesOfTiny tiny;
  tiny.job.model.hidden = 4096;  // Tensors of more than a piece.
  tiny.job.model.vocab = 32000;
  tiny.machine.profile.device = DeviceKind::cuda;
  EXPECT_EQ(at(tiny.phases(), Phase::save, Tier::host).peak, Bytes(100));
  // 12 bytes of 2^20 elements on each of 32 threads.
  EXPECT_EQ(kCudaProcessSpare, Bytes(12 * kStatePiece * kStateThreads));
  tiny.machine.profile.device = DeviceKind::host;
  tiny.machine.profile.cores.value = 16;
  const Bytes beyond = Bytes(16 * 12 * kStatePiece) - kProcessSpare;
  EXPECT_EQ(at(tiny.phases(), Phase::load, Tier::host).peak, Bytes(100) + beyond);
  EXPECT_EQ(at(tiny.phases(), Phase::step, Tier::host).peak, Bytes(100));
}

TEST(PhaseMemory, CheckpointsTakeOfTheDriveAndNotOfWhatIsLent) {
  PhasesOfTiny tiny;
  const Bytes checkpoint = checkpoint_bytes(tiny.job);
  const PhaseMemory once = tiny.phases();
  EXPECT_EQ(at(once, Phase::step, Tier::disk).peak, Bytes(1000));
  EXPECT_EQ(at(once, Phase::load, Tier::disk).peak,
            Bytes(1000 + 2 * parameter_count(tiny.job.model)));
  EXPECT_EQ(at(once, Phase::save, Tier::disk).peak, Bytes(1000) + checkpoint);
  EXPECT_EQ(at(once, Phase::save, Tier::disk).capacity, Bytes(1'000'000'000'000));
  EXPECT_TRUE(phase_shortages(once).empty());
  // Four saves before the end, of which the newest two stay: a third stands beside them.
  tiny.saving.saves = 4;
  tiny.saving.kept = 2;
  tiny.saving.disk = checkpoint * 3;
  tiny.machine.profile.disk.value = 1000 + 2.5 * static_cast<double>(checkpoint.count());
  const PhaseMemory often = tiny.phases();
  EXPECT_EQ(at(often, Phase::step, Tier::disk).peak, Bytes(1000) + checkpoint * 2);
  EXPECT_EQ(at(often, Phase::load, Tier::disk).peak, Bytes(1000) + checkpoint * 2);
  const std::vector<std::string> lacking = phase_shortages(often);
  ASSERT_EQ(lacking.size(), 1);
  EXPECT_THAT(lacking[0], testing::StartsWith("to save, disk is short by"));
}

TEST(SsdWear, CountsStepsThatWriteAndCheckpoints) {
  Job job;
  job.model = test::tiny_shape();
  Plan plan;
  plan.units.resize(unit_count(job.model));
  EXPECT_FALSE(ssd_wear(job, plan, 1e12).steps.has_value());
  plan.units[1].state = Tier::disk;
  const SsdWear wear = ssd_wear(job, plan, 1e12);
  // Low halves and moments; high halves stay on the host.
  const double written = 10.0 * static_cast<double>(unit_tensors(job.model, 1).padded_size);
  EXPECT_DOUBLE_EQ(*wear.steps, 1e12 / written);
  EXPECT_DOUBLE_EQ(wear.checkpoints, 1e12 / static_cast<double>(checkpoint_bytes(job).count()));
}

TEST(ValidatedCases, TheNearestIsOfTheSameKind) {
  Job job;
  job.model = find_model("qwen2.5-7b");
  job.seq_len = 1024;
  job.batch_size = 32;
  const ValidatedCase& found = nearest_case(job, find_machine("h200"));
  EXPECT_EQ(found.model, "qwen2.5-7b");
  EXPECT_EQ(found.tokens, 32768);
  EXPECT_EQ(found.parameters, parameter_count(job.model));
  EXPECT_NEAR(found.error(), -0.1, 0.03);
}

}  // namespace
}  // namespace sluice::planner
