// PCI Express link of a device as Linux reports it, and the device's memory node.
#pragma once

#include <optional>
#include <string>

#include "profiler/doctor/finding.hpp"
#include "profiler/doctor/system_files.hpp"

namespace sluice::profiler {

struct PciLink {
  /// PCIe generation and number of lanes of the link now; an idle GPU lowers its generation.
  int generation = 0, width = 0;
  int best_generation = 0, best_width = 0;
  /// Number of the NUMA node that the device is attached to; none where the system has only one or
  /// does not say.
  std::optional<int> numa_node;
};

/// The link of the device at `bus_id`, written as CUDA does ("0000:1A:00.0"). None where the system
/// does not say.
[[nodiscard]] std::optional<PciLink> pci_link(const SystemFiles& files, const std::string& bus_id);

/// Warnings about a link that runs below its best, or about memory on several nodes: the
/// measurements then hold for the node that this process runs on. Call it while copies run, because
/// an idle link runs slower.
[[nodiscard]] Findings examine_link(const std::optional<PciLink>& link, std::size_t numa_nodes);

}  // namespace sluice::profiler
