// Machines for tests of the relaxation.
#pragma once

#include <vector>

#include "planner/machines/resolved_machine.hpp"
#include "tests/planner/round_machine.hpp"
#include "tests/planner/step_jobs.hpp"

namespace sluice::planner::test {

/// Machines on which different things bind: one resource at a time is scarce, or lanes slow each
/// other.
inline std::vector<ResolvedMachine> uneven_machines() {
  std::vector<ResolvedMachine> all;
  for (const DeviceKind device : {DeviceKind::host, DeviceKind::cuda}) {
    const ResolvedMachine base = [&] {
      ResolvedMachine machine = round_machine(device);
      machine.hbm += context_bytes(machine.profile);
      machine.host += Bytes(1ll << 31);
      return machine;
    }();
    all.push_back(base);
    for (int which = 0; which < 7; ++which) {
      ResolvedMachine machine = base;
      if (which == 0) scale_by(machine.profile.h2d, 1.0 / 10);
      if (which == 1) scale_by(machine.profile.d2h, 1.0 / 10);
      if (which == 2) {
        for (auto& [threads, rate] : machine.profile.update) rate.value /= 10;
      }
      if (which == 3) {
        machine.profile.dram = measured(12e6);
        machine.profile.h2d_dram = machine.profile.d2h_dram = measured(1);
        machine.profile.update_dram = measured(28);
      }
      if (which == 3 && machine.profile.device == DeviceKind::cuda) {
        machine.profile.boost_gain = measured(0.5);
        machine.profile.boost_most = measured(1.3);
        machine.profile.boost_window = measured(2e-3);
      }
      if (which == 4) {
        machine.profile.interference = {{LaneKind::compute, LaneKind::h2d, measured(0.8)},
                                        {LaneKind::compute, LaneKind::cpu, measured(0.9)},
                                        {LaneKind::cpu, LaneKind::h2d, measured(0.7)},
                                        {LaneKind::cpu, LaneKind::compute, measured(0.9)}};
      }
      if (which == 5) {  // Both ways slow each other and what computes.
        machine.profile.interference = {{LaneKind::compute, LaneKind::h2d, measured(0.9)},
                                        {LaneKind::compute, LaneKind::d2h, measured(0.8)},
                                        {LaneKind::h2d, LaneKind::d2h, measured(0.7)},
                                        {LaneKind::d2h, LaneKind::h2d, measured(0.8)},
                                        {LaneKind::h2d, LaneKind::cpu, measured(0.9)}};
        scale_by(machine.profile.h2d, 1.0 / 4);
        scale_by(machine.profile.d2h, 1.0 / 4);
      }
      if (which == 6) {  // More threads suffer more from copies.
        machine.profile.interference = {{LaneKind::cpu, LaneKind::h2d, measured(0.9), 1},
                                        {LaneKind::cpu, LaneKind::h2d, measured(0.7), 4},
                                        {LaneKind::cpu, LaneKind::d2h, measured(0.8), 1},
                                        {LaneKind::cpu, LaneKind::d2h, measured(0.5), 4}};
        for (auto& [threads, rate] : machine.profile.update) rate.value /= 4;
      }
      all.push_back(machine);
    }
  }
  return all;
}

}  // namespace sluice::planner::test
