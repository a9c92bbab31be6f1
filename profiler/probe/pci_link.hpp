// The PCI Express link of a device as Linux found it, and the memory node it hangs on.
#pragma once

#include <optional>
#include <string>

#include "profiler/doctor/finding.hpp"
#include "profiler/doctor/system_files.hpp"

namespace sluice::profiler {

struct PciLink {
  int generation = 0, width = 0;  ///< Now: an idle GPU lowers its generation.
  int best_generation = 0, best_width = 0;
  std::optional<int> numa_node;  ///< None where the system has one or does not say.
};

/// `bus_id` as CUDA writes it ("0000:1A:00.0"). None where the system does not say.
[[nodiscard]] std::optional<PciLink> pci_link(const SystemFiles& files, const std::string& bus_id);

/// Asked while copies run. A warning where the link runs below its best, or where memory lies on
/// several nodes: then what was measured holds for the node this process runs on.
[[nodiscard]] Findings examine_link(const std::optional<PciLink>& link, std::size_t numa_nodes);

}  // namespace sluice::profiler
