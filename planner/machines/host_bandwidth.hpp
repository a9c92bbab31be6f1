// Bandwidth of the host's memory as people measure and state it.
#pragma once

#include <string>

#include "planner/machines/machine.hpp"

namespace sluice::planner {

/// Rate at which all cores together move bytes through the host's memory, reads and writes, as a
/// STREAM triad with streaming stores measures it. The profile's fastest updates imply it; 0 where
/// the profile has no updates.
[[nodiscard]] BytesPerSecond host_bandwidth(const MachineProfile& profile);

/// Changes the profile to a host whose memory moves `bandwidth` (in the sense of
/// host_bandwidth()). The capacity of the link `dram`, which the probe fits on a scale of its own,
/// and the rates of updates that fill the memory change in proportion; updates on few threads,
/// which wait for their cores, hardly change. `note` says where the number comes from.
void set_host_bandwidth(MachineProfile& profile, BytesPerSecond bandwidth, const std::string& note);

}  // namespace sluice::planner
