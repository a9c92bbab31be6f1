#include "profiler/probe/pci_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <sstream>

namespace sluice::profiler {
namespace {

/// PCI Express generation by GT/s, such as 5 for "32.0 GT/s PCIe"; 0 for other rates.
int generation_of(double transfers) {
  constexpr std::array kRates = {2.5, 5.0, 8.0, 16.0, 32.0, 64.0};
  for (std::size_t i = 0; i < kRates.size(); ++i) {
    if (std::abs(transfers - kRates[i]) < 0.1) return static_cast<int>(i) + 1;
  }
  return 0;
}

std::optional<double> leading_number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  double value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

}  // namespace

std::optional<PciLink> pci_link(const SystemFiles& files, const std::string& bus_id) {
  std::string name = bus_id;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string folder = "sys/bus/pci/devices/" + name + "/";
  const auto number = [&](const char* file) { return leading_number(files.text(folder + file)); };
  const auto speed = number("current_link_speed"), best_speed = number("max_link_speed");
  const auto width = number("current_link_width"), best_width = number("max_link_width");
  if (!speed || !best_speed || !width || !best_width) return std::nullopt;
  PciLink link{.generation = generation_of(*speed),
               .width = static_cast<int>(*width),
               .best_generation = generation_of(*best_speed),
               .best_width = static_cast<int>(*best_width),
               .numa_node = std::nullopt};
  const auto node = number("numa_node");
  if (node && *node >= 0) link.numa_node = static_cast<int>(*node);
  return link;
}

Findings examine_link(const std::optional<PciLink>& link, std::size_t numa_nodes) {
  Findings findings;
  if (!link) {
    findings.push_back({"pcie", Verdict::warn, "link unknown: the system does not say",
                        "lspci -vv | grep -A40 NVIDIA | grep LnkSta"});
    return findings;
  }
  Finding pcie{"pcie", Verdict::ok,
               fmt::format("gen {} x{} under load (at best gen {} x{})", link->generation,
                           link->width, link->best_generation, link->best_width),
               std::nullopt};
  if (link->width < link->best_width || link->generation < link->best_generation) {
    pcie.verdict = Verdict::warn;
    pcie.text += ": the link runs below its best";
    pcie.fix = "lspci -vv | grep LnkSta (then reseat the card, or use a slot of full width)";
  }
  findings.push_back(pcie);
  if (numa_nodes < 2) return findings;
  if (link->numa_node) {
    findings.push_back(
        {"numa", Verdict::warn,
         fmt::format("the GPU hangs on node {} of {}: memory of another node is "
                     "slower for copies and the optimizer",
                     *link->numa_node, numa_nodes),
         fmt::format("numactl --cpunodebind={0} --membind={0} sluice ...", *link->numa_node)});
  } else {
    findings.push_back(
        {"numa", Verdict::warn,
         fmt::format("{} nodes, and the system does not say which is the GPU's", numa_nodes),
         "nvidia-smi topo -m"});
  }
  return findings;
}

}  // namespace sluice::profiler
