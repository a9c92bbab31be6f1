// What measurements of several GPUs of one host together make of a machine profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/costs/cost.hpp"
#include "planner/machines/machine.hpp"
#include "profiler/probe/sampling.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Seconds that a collective took on the slowest rank, one sample a repetition.
struct CollectiveSamples {
  planner::Collective operation;
  Bytes received{0};  ///< Bytes that each GPU receives from the others together.
  Samples seconds;
};

/// The fabric that `samples` are of: its latency is that of the quickest size, and rates are those
/// of the bytes beyond it. Sizes that took no longer than the latency are left out. Throws
/// EnvironmentError where an operation has no size left.
[[nodiscard]] planner::Fabric measured_fabric(const std::vector<CollectiveSamples>& samples);

/// Completes a measured fabric by what no measurement says: its path, as its gathers are beside a
/// link that copies `link` bytes/s, and whether all GPUs reach each other's memory (`peers`); and
/// the interference of the catalogue's first fabric with that path, as an estimate.
void complete(planner::Fabric& fabric, BytesPerSecond link, bool peers);

/// Rates of the whole host while the links of some of its GPUs and the CPU optimizer run.
struct HostLoad {
  std::int64_t gpus = 0;
  std::int64_t threads = 0;  ///< Threads of the optimizer; 0 where it does not run.
  double h2d = 0, d2h = 0;   ///< Bytes/s of all links together; 0 where none copies so.
  double updates = 0;        ///< Parameters/s.
};
[[nodiscard]] std::string to_text(const HostLoad& load);

/// Sets the capacity of host memory to what `load`, in which all links and the optimizer run, takes
/// of it by the profile's coefficients: nothing of the host gives more.
void set_shared_memory(planner::MachineProfile& profile, const HostLoad& load);

}  // namespace sluice::profiler
