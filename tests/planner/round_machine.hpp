// A machine of round numbers for tests of costs, predictions and searches.
#pragma once

#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner::test {

/// A measured number, in the unit of what it becomes.
struct RoundNumber {
  double value, deviation;
  template <class Quantity>
  operator Measured<Quantity>() const {  // NOLINT(google-explicit-constructor)
    return in_unit<Quantity>({value, deviation, 5, Source::measured, "round"});
  }
};

inline RoundNumber measured(double value, double relative_deviation = 0.01) {
  return {value, value * relative_deviation};
}

/// Profile of a machine with two cores, 1 GFLOP/s in matrix products, links of 10 MB/s each way,
/// and updates of 1e6 parameters/s a thread.
inline MachineProfile round_profile(DeviceKind device = DeviceKind::host) {
  MachineProfile p;
  p.name = "round";
  p.device = device;
  p.architecture = "round";
  p.hbm = measured(1 << 30);
  p.host = measured(1 << 30);
  p.cores = measured(2);
  p.h2d = measured(10e6);
  p.d2h = measured(10e6);
  p.copy_latency = measured(10e-6);
  p.hbm_bandwidth = measured(1e9);
  p.peak_bf16 = measured(2e9);
  p.gemm = {{Flops(1e3), measured(0.5e9)}, {Flops(1e9), measured(1e9)}};
  p.attention_forward = measured(0.5e9);
  p.attention_backward = measured(0.4e9);
  p.launch = measured(1e-6);
  p.kernel_overhead = measured(2e-6);
  p.update = {{1, measured(1e6)}, {2, measured(1.8e6)}};
  p.device_update = measured(20e6);
  p.interference = {{LaneKind::compute, LaneKind::cpu, measured(0.95)}};
  return p;
}

inline ResolvedMachine round_machine(DeviceKind device = DeviceKind::host) {
  const MachineProfile profile = round_profile(device);
  return {profile, profile_hash(profile), Bytes(1ll << 30), Bytes(1ll << 30), Bytes(0)};
}

}  // namespace sluice::planner::test
