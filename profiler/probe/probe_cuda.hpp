// Probe of this machine with its GPU into a profile of the cuda backend.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/machines/machine.hpp"
#include "profiler/doctor/finding.hpp"
#include "profiler/probe/contention_fit.hpp"
#include "profiler/probe/probe.hpp"

namespace sluice::profiler {

struct CudaProbe {
  planner::MachineProfile profile;
  ContentionGrid grid;  ///< Measured points to which the contention model was fitted.
  /// Fit of the contention model; none where there are too few cores for a grid.
  std::optional<ContentionFit> fit;
  Findings warnings;  ///< Warnings about the link, NUMA, the disk, and memory that is not pinned.
};

/// Probes the machine with its GPU; takes minutes, and with ProbeDepth::quick less than one, once
/// the products' algorithms are tuned. Every number is the median of repetitions with its deviation
/// and count; what cannot be measured (peak FLOP/s) is the catalogue's for this GPU or an estimate,
/// and says so. Throws EnvironmentError in a build without CUDA, without a usable GPU, and where
/// memory or the disk fails.
[[nodiscard]] CudaProbe probe_cuda(ProbeDepth depth, const ProbeProgress& progress,
                                   const ProbedDisk& disk);

/// Throws EnvironmentError where `gpus` GPUs of this host cannot be connected, with the fix.
void require_several_gpus(std::int64_t gpus);

/// Measures the first `gpus` GPUs of this host together, and adds to the profile of one of them
/// what they share: their number, their fabric (collectives by size, as training runs them), and
/// the capacity of host memory that all links both ways and the CPU optimizer fill together. Throws
/// as probe_cuda, and where the GPUs cannot be connected.
void probe_several_gpus(CudaProbe& probe, std::int64_t gpus, ProbeDepth depth,
                        const ProbeProgress& progress);

}  // namespace sluice::profiler
