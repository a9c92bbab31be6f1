// Probe of this machine's host backend into a profile.
#pragma once

#include <functional>
#include <string>

#include "planner/machines/machine.hpp"
#include "profiler/probe/disk_bench.hpp"
#include "sim/units.hpp"

namespace sluice::profiler {

/// Depth of a probe: `quick` takes about eight seconds on two cores and gives wider deviations,
/// `full` twenty to thirty.
using planner::ProbeDepth;

/// Function that is called once a part of the probe has been measured, with the part's name and its
/// result in words.
using ProbeProgress = std::function<void(const std::string& part, const std::string& result)>;

/// Probes this machine with the host backend. Every kernel is timed through the code that a run
/// calls (docs/design/host-backend.md), with random operands, as the median of repetitions. What
/// the host backend sets and does not measure (arena size, link bandwidth, copy latency) comes from
/// planner::here_estimate(), and so do the disk's rates where `disk` cannot be measured, which
/// `progress` is told.
[[nodiscard]] planner::MachineProfile probe_host(ProbeDepth depth, const ProbeProgress& progress,
                                                 const ProbedDisk& disk);

}  // namespace sluice::profiler
