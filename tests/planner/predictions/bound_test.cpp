#include "planner/predictions/bound.hpp"

#include <gtest/gtest.h>

#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner {
namespace {

using test::round_machine;
using test::tiny_job;

Bound bound(const ResolvedMachine& machine, const Job& job = tiny_job()) {
  return bound_of(job, ProfileCostModel(machine.profile, {}), machine, Residency::host);
}

double of(const Bound& bound, BoundBy by) {
  return bound.each[static_cast<std::size_t>(by)].count();
}

/// A machine whose CPU updates 1000 parameters a second, with links that take no time.
ResolvedMachine slow_cpu() {
  ResolvedMachine machine = round_machine(DeviceKind::cuda);
  machine.profile.update = {{1, test::measured(1e3)}};
  machine.profile.h2d = machine.profile.d2h = test::measured(1e12);
  return machine;
}

TEST(Bound, ASlowCpuBindsNothingWhereTheDeviceCanUpdateStagedState) {
  const Bound made = bound(slow_cpu());
  EXPECT_EQ(made.by, BoundBy::compute);
  EXPECT_NEAR(made.time.count() / of(made, BoundBy::compute), 1, 0.01);
}

TEST(Bound, ASlowLinkLeavesTheUpdatesToTheCpu) {
  ResolvedMachine machine = round_machine(DeviceKind::cuda);
  machine.profile.h2d = machine.profile.d2h = test::measured(1e3);
  const Job job = tiny_job();
  double parameters = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    parameters += static_cast<double>(unit_tensors(job.model, unit).padded_size);
  }
  const Bound made = bound(machine, job);
  // 4 bytes of gradient a parameter at 1000 bytes/s; staging would store 12.
  EXPECT_NEAR(of(made, BoundBy::d2h), 4 * parameters / 1e3, 1e-3 * 4 * parameters / 1e3);
}

TEST(Bound, IsNoMoreWithAFasterLinkOrCpuOrMoreMemory) {
  const ResolvedMachine base = round_machine(DeviceKind::cuda);
  const Seconds time = bound(base).time;
  ResolvedMachine link = base;
  scale_by(link.profile.h2d, 2);
  scale_by(link.profile.d2h, 2);
  EXPECT_LE(bound(link).time, time * (1 + 1e-9));
  ResolvedMachine cpu = base;
  for (auto& [threads, rate] : cpu.profile.update) rate.value *= 2;
  EXPECT_LE(bound(cpu).time, time * (1 + 1e-9));
  ResolvedMachine less = base;
  less.hbm = Bytes(1 << 18);
  EXPECT_GE(bound(less).time, time * (1 - 1e-9));
}

}  // namespace
}  // namespace sluice::planner
