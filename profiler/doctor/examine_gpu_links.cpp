// What several GPUs of one host reach: each other's memory, and a NUMA node.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "profiler/doctor/examine.hpp"

namespace sluice::profiler {
namespace {

/// "0", "0 and 1", "0, 1 and 3".
std::string listed(const std::vector<std::string>& items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == items.size() ? " and " : ", ") + items[i];
  }
  return text;
}

Finding examine_models(const std::vector<Gpu>& gpus) {
  std::map<std::string, std::vector<std::string>> by_name;
  for (std::size_t i = 0; i < gpus.size(); ++i) by_name[gpus[i].name].push_back(std::to_string(i));
  if (by_name.size() == 1) {
    return {"gpus", Verdict::ok, fmt::format("{} x {}", gpus.size(), gpus.front().name), {}};
  }
  std::vector<std::string> kinds;
  kinds.reserve(by_name.size());
  const auto most =
      std::ranges::max_element(by_name, {}, [](const auto& kind) { return kind.second.size(); });
  for (const auto& [name, numbers] : by_name) kinds.push_back(name + " (" + listed(numbers) + ")");
  std::string visible;
  for (const std::string& number : most->second) visible += (visible.empty() ? "" : ",") + number;
  return {"gpus", Verdict::warn, listed(kinds) + ": ranks of a run need GPUs of one model",
          "export CUDA_VISIBLE_DEVICES=" + visible};
}

Finding examine_peers(const NvidiaDriver& driver, bool redirected) {
  if (driver.peers.empty()) {
    return {"peer access", Verdict::warn, "the driver does not say", "nvidia-smi topo -p2p r"};
  }
  std::vector<std::string> missing;
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < driver.peers.size(); ++i) {
    for (std::size_t j = i + 1; j < driver.peers.size(); ++j, ++pairs) {
      if (driver.peers[i][j] && driver.peers[j][i]) continue;
      missing.push_back(fmt::format("{}-{}", i, j));
    }
  }
  if (missing.empty()) {
    return {"peer access", Verdict::ok, "all GPUs reach each other's memory", {}};
  }
  const std::string which = missing.size() == pairs ? "no GPU reaches another's memory"
                                                    : "not between " + listed(missing);
  return {"peer access", Verdict::warn,
          which + ": gathers and exchanges go through host memory, at a fraction of the speed",
          redirected ? "let the IOMMU and PCIe switches pass (below), then nvidia-smi topo -p2p r"
                     : "nvidia-smi topo -p2p r (GeForce drivers allow no peers: keep state and "
                       "exchanges few, sluice machines show 2x-NAME)"};
}

Finding examine_nvlinks(const std::vector<Gpu>& gpus) {
  std::set<int> counts;
  std::vector<std::string> texts;
  for (const Gpu& gpu : gpus) {
    if (!gpu.nvlinks) {
      return {"nvlink", Verdict::warn, "NVML does not say", "nvidia-smi nvlink --status"};
    }
    counts.insert(*gpu.nvlinks);
    texts.push_back(std::to_string(*gpu.nvlinks));
  }
  if (counts.size() > 1) {
    return {"nvlink", Verdict::warn,
            listed(texts) + " links are up: the GPU with the fewest holds up all ranks",
            "nvidia-smi nvlink --status (then systemctl restart nvidia-fabricmanager, or reseat "
            "the bridge)"};
  }
  const int each = *counts.begin();
  const std::string text = each == 0 ? "none: GPUs exchange over PCIe"
                                     : fmt::format("{} links of each GPU are up", each);
  return {"nvlink", Verdict::ok, text, {}};
}

Finding examine_numa(const std::vector<Gpu>& gpus, const SystemFiles& files) {
  const std::size_t nodes = files.numa_nodes();
  std::map<int, std::vector<std::string>> by_node;
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const auto node = gpus[i].bus.empty() ? std::nullopt : files.numa_node_of(gpus[i].bus);
    (node ? by_node[*node] : unknown).push_back(std::to_string(i));
  }
  if (nodes == 1) return {"gpu numa", Verdict::ok, "one NUMA node for all GPUs", {}};
  if (!unknown.empty()) {
    return {"gpu numa", Verdict::warn,
            fmt::format("the node of GPU {} is not known, and there are {} nodes", listed(unknown),
                        nodes),
            "nvidia-smi topo -m (then state the host's NUMA layout to the virtual machine)"};
  }
  std::vector<std::string> texts;
  texts.reserve(by_node.size());
  for (const auto& [node, numbers] : by_node) {
    texts.push_back(fmt::format("GPU {} at node {}", listed(numbers), node));
  }
  const auto size = [](const auto& each) { return each.second.size(); };
  const bool even = by_node.size() == nodes && std::ranges::all_of(by_node, [&](const auto& each) {
                      return size(each) == size(*by_node.begin());
                    });
  if (even) return {"gpu numa", Verdict::ok, listed(texts), {}};
  return {"gpu numa", Verdict::warn,
          fmt::format("{}, of {} nodes: ranks share memory unevenly", listed(texts), nodes),
          "nvidia-smi topo -m (then move cards, or choose by CUDA_VISIBLE_DEVICES)"};
}

/// Finding on what sends traffic between GPUs over PCIe up to the processor.
Finding examine_redirection(const std::vector<Gpu>& gpus, const SystemFiles& files) {
  std::set<std::string> translated, bridges;
  bool has_nvlink = true;
  for (const Gpu& gpu : gpus) {
    has_nvlink = has_nvlink && gpu.nvlinks.value_or(0) > 0;
    if (gpu.bus.empty()) continue;
    const auto type = files.iommu_type_of(gpu.bus);
    if (type && type->starts_with("DMA")) translated.insert(gpu.bus);
    for (const std::string& bridge : files.redirecting_bridges(gpu.bus)) bridges.insert(bridge);
  }
  if (has_nvlink || (translated.empty() && bridges.empty())) {
    return {"iommu, acs",
            Verdict::ok,
            has_nvlink ? "of no matter: GPUs exchange over NVLink"
                       : "nothing seen that sends traffic between GPUs through the processor",
            {}};
  }
  std::vector<std::string> texts;
  if (!translated.empty()) {
    texts.push_back(fmt::format("the IOMMU translates addresses of {} GPUs", translated.size()));
  }
  if (!bridges.empty()) {
    texts.push_back("PCIe bridges redirect requests (" + listed({bridges.begin(), bridges.end()}) +
                    ")");
  }
  return {"iommu, acs", Verdict::warn,
          listed(texts) + ": what GPUs send each other goes through the processor",
          "boot with iommu=pt, and turn ACS off in the firmware or by setpci -s BRIDGE "
          "ECAP_ACS+6.w=0"};
}

}  // namespace

Findings examine_gpu_links(const NvidiaDriver& driver, const SystemFiles& files) {
  const std::vector<Gpu>& gpus = driver.gpus;
  if (driver.problem || gpus.size() < 2) return {};
  const Finding redirection = examine_redirection(gpus, files);
  return {examine_models(gpus), examine_peers(driver, redirection.verdict != Verdict::ok),
          examine_nvlinks(gpus), examine_numa(gpus, files), redirection};
}

}  // namespace sluice::profiler
