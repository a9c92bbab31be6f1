// Jobs and a machine for tests of state and gradients on the disk.
#pragma once

#include "planner/plans/disk_state.hpp"
#include "planner/plans/random_plan.hpp"
#include "planner/runs/run_config.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner::test {

/// A job whose blocks have several pieces on disk.
inline Job pieced_job() {
  Job job = tiny_job();
  job.model.layers = 2;
  job.model.hidden = 256;
  job.model.intermediate = 512;
  job.model.head_dim = 64;
  return job;
}

/// A random plan in which unit i, if the CPU updates it, has its state on the disk where bit i of
/// `units` is set, and perhaps its weights and gradients.
inline Plan random_disk_plan(const Job& job, std::uint64_t seed, std::uint64_t units) {
  Plan plan = random_plan(job, seed);
  for (std::size_t i = 0; i < plan.units.size(); ++i) {
    UnitPlan& unit = plan.units[i];
    if (unit.executor == Executor::cpu && (units >> i & 1) != 0) unit.state = Tier::disk;
    const bool waits = unit.state == Tier::disk && unit.when != When::backward;
    if (unit.state == Tier::disk && (units >> i & 4) != 0) unit.weights = Tier::disk;
    if (waits && (units >> i & 2) != 0) unit.gradients = Tier::disk;
  }
  UnitPlan& embed = plan.units.front();
  UnitPlan& head = plan.units.back();
  if (job.model.tied_head && embed.gradients != head.gradients) {
    for (UnitPlan* end : {&embed, &head}) {
      if (end->gradients == Tier::disk) end->gradients = Tier::host;
    }
    if (embed.gradients != head.gradients) embed.gradients = head.gradients = Tier::hbm;
  }
  plan.disk_buffers = 1 + static_cast<std::int64_t>(seed % 4);
  plan.disk_buffer = kDiskBlock;
  return plan;
}

inline ResolvedMachine disk_machine(double read = 10e6, double write = 5e6,
                                    DeviceKind device = DeviceKind::host) {
  ResolvedMachine machine = round_machine(device);
  machine.profile.disk_read = measured(read);
  machine.profile.disk_write = measured(write);
  machine.disk = Bytes(1ll << 40);
  machine.state_on_disk = true;
  return machine;
}

inline std::int64_t padded(const Job& job) {
  std::int64_t all = 0;
  for (std::size_t unit = 0; unit < unit_count(job.model); ++unit) {
    all += unit_tensors(job.model, unit).padded_size;
  }
  return all;
}

inline Plan all_on_disk(const Job& job, Tier state = Tier::disk, Tier gradients = Tier::host,
                        Tier weights = Tier::host) {
  UnitPlan unit;
  unit.weights = weights;
  unit.state = state;
  unit.gradients = gradients;
  return uniform_plan(job, unit, 1);
}

}  // namespace sluice::planner::test
