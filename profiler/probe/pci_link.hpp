// The PCI Express link of a device as Linux reports it, and its memory node.
#pragma once

#include <optional>
#include <string>

#include "profiler/doctor/finding.hpp"
#include "profiler/doctor/system_files.hpp"

namespace sluice::profiler {

struct PciLink {
  int generation = 0, width = 0;  ///< Current values; an idle GPU lowers its generation.
  int best_generation = 0, best_width = 0;
  /// Memory node of the device; none where the system has only one or does not say.
  std::optional<int> numa_node;
};

/// The link of a device; `bus_id` as CUDA writes it ("0000:1A:00.0"). None where the system does
/// not say.
[[nodiscard]] std::optional<PciLink> pci_link(const SystemFiles& files, const std::string& bus_id);

/// Warnings about a link that runs below its best, or about memory on several nodes: the
/// measurements then hold for the node that this process runs on. To be called while copies run.
[[nodiscard]] Findings examine_link(const std::optional<PciLink>& link, std::size_t numa_nodes);

}  // namespace sluice::profiler
