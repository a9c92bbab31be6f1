// Measures this machine with its GPU into a profile of the cuda backend.
#pragma once

#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "profiler/doctor/finding.hpp"
#include "profiler/probe/contention_fit.hpp"
#include "profiler/probe/probe.hpp"

namespace sluice::profiler {

struct CudaProbe {
  planner::MachineProfile profile;
  ContentionGrid grid;               ///< What the contention model was fitted to.
  std::optional<ContentionFit> fit;  ///< None where there are too few cores for a grid.
  Findings warnings;                 ///< The link, NUMA, the disk, memory that is not pinned.
};

/// Minutes, and with ProbeDepth::quick under one, once the products' algorithms are tuned. Every
/// number is the median of repetitions with its deviation and count; what cannot be measured (peak
/// FLOP/s) is the catalogue's for this GPU or an estimate, and says so. Throws EnvironmentError in
/// a build without CUDA, without a usable GPU, and where memory or the disk fails.
[[nodiscard]] CudaProbe probe_cuda(ProbeDepth depth, const ProbeProgress& progress,
                                   const ProbedDisk& disk);

}  // namespace sluice::profiler
