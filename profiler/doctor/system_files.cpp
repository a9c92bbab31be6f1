#include "profiler/doctor/system_files.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "planner/machines/cgroups.hpp"

namespace sluice::profiler {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

/// The value after "key<spaces>:" on the first line that starts with `key`.
std::optional<std::string> colon_field(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key) {
      return trimmed(line.substr(colon + 1));
    }
  }
  return std::nullopt;
}

std::optional<double> number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::istringstream in(*text);
  double value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

const char kPciDevices[] = "sys/bus/pci/devices/";

/// Whether a PCIe bridge of this configuration space has access control services that redirect
/// requests or completions between devices below it (PCI Express base specification, 7.7.8).
bool redirects(const std::string& config) {
  constexpr std::size_t kFirstExtended = 0x100;
  constexpr std::uint32_t kAccessControl = 0x000D;
  constexpr std::uint32_t kRedirectRequests = 1 << 2, kRedirectCompletions = 1 << 3;
  const auto byte = [&](std::size_t at) -> std::uint32_t {
    return at < config.size() ? static_cast<unsigned char>(config[at]) : 0U;
  };
  std::size_t at = kFirstExtended;
  while (at >= kFirstExtended && at + 8 <= config.size()) {
    const std::uint32_t id = byte(at) | byte(at + 1) << 8;
    if (id == kAccessControl) {
      const std::uint32_t control = byte(at + 6) | byte(at + 7) << 8;
      return (control & (kRedirectRequests | kRedirectCompletions)) != 0;
    }
    const std::size_t next = (byte(at + 2) >> 4 | byte(at + 3) << 4) & 0xFFCU;
    if (next <= at) break;
    at = next;
  }
  return false;
}

}  // namespace

std::optional<int> SystemFiles::numa_node_of(const std::string& bus) const {
  const auto node = number(text(kPciDevices + bus + "/numa_node"));
  if (!node || *node < 0) return std::nullopt;
  return static_cast<int>(*node);
}

std::optional<std::string> SystemFiles::iommu_type_of(const std::string& bus) const {
  const auto type = text(kPciDevices + bus + "/iommu_group/type");
  return type ? std::optional(trimmed(*type)) : std::nullopt;
}

std::vector<std::string> SystemFiles::redirecting_bridges(const std::string& bus) const {
  std::error_code failed;
  const std::filesystem::path device =
      std::filesystem::canonical(root_ / (kPciDevices + bus), failed);
  std::vector<std::string> bridges;
  if (failed) return bridges;
  for (std::filesystem::path above = device.parent_path(); above.has_relative_path();
       above = above.parent_path()) {
    std::ifstream in(above / "config", std::ios::binary);
    if (!in) break;  // The folder of the root complex has none.
    std::ostringstream config;
    config << in.rdbuf();
    if (redirects(config.str())) bridges.push_back(above.filename().string());
  }
  return bridges;
}

std::optional<std::string> SystemFiles::text(const std::string& path) const {
  std::ifstream in(root_ / path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

std::vector<std::string> SystemFiles::entries(const std::string& folder,
                                              const std::string& prefix) const {
  std::vector<std::string> names;
  std::error_code ignored;
  for (std::filesystem::directory_iterator at(root_ / folder, ignored), end; at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(prefix)) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> SystemFiles::cpu_model() const {
  const auto info = text("proc/cpuinfo");
  return info ? colon_field(*info, "model name") : std::nullopt;
}

std::vector<std::string> SystemFiles::cpu_flags() const {
  const auto info = text("proc/cpuinfo");
  if (!info) return {};
  std::istringstream words(colon_field(*info, "flags").value_or(""));
  std::vector<std::string> flags;
  for (std::string flag; words >> flag;) flags.push_back(flag);
  return flags;
}

std::optional<Bytes> SystemFiles::memory_field(const std::string& name) const {
  const auto info = text("proc/meminfo");
  if (!info) return std::nullopt;
  const auto kibibytes = number(colon_field(*info, name));
  if (!kibibytes) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(*kibibytes) << 10);
}

std::optional<Bytes> SystemFiles::cgroup_memory_limit() const {
  return planner::Cgroups(root_).memory_limit();
}

std::optional<double> SystemFiles::cgroup_cpu_limit() const {
  return planner::Cgroups(root_).cpu_limit();
}

std::size_t SystemFiles::numa_nodes() const {
  std::size_t nodes = 0;
  for (const std::string& name : entries("sys/devices/system/node", "node")) {
    nodes += name.size() > 4 && name.find_first_not_of("0123456789", 4) == std::string::npos;
  }
  return std::max<std::size_t>(nodes, 1);
}

bool SystemFiles::is_wsl() const {
  std::string version = text("proc/version").value_or("");
  std::transform(version.begin(), version.end(), version.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return version.find("microsoft") != std::string::npos;
}

std::optional<SystemFiles::MemoryModules> SystemFiles::memory_modules() const {
  // SMBIOS 3.x, section 6.1.2: each structure is type, length, handle, fields, then strings that
  // end with two zero bytes. Type 17 ("Memory Device"): size at 0x0C (0 empty, 0xFFFF unknown),
  // configured speed in MT/s at 0x20.
  const auto table = text("sys/firmware/dmi/tables/DMI");
  if (!table) return std::nullopt;
  const auto byte = [&](std::size_t at) {
    return at < table->size() ? static_cast<unsigned char>((*table)[at]) : 0U;
  };
  const auto word = [&](std::size_t at) { return byte(at) | byte(at + 1) << 8; };
  MemoryModules modules;
  for (std::size_t at = 0; at + 4 <= table->size();) {
    const unsigned type = byte(at);
    const unsigned length = byte(at + 1);
    if (length < 4 || type == 127) break;
    if (type == 17 && length > 0x0D && word(at + 0x0C) != 0) {
      ++modules.populated;
      const std::int64_t speed = length > 0x21 ? word(at + 0x20) : 0;
      if (speed > 0 && (modules.megatransfers == 0 || speed < modules.megatransfers)) {
        modules.megatransfers = speed;
      }
    }
    at += length;
    while (at + 1 < table->size() && (byte(at) != 0 || byte(at + 1) != 0)) ++at;
    at += 2;
  }
  if (modules.populated == 0) return std::nullopt;
  return modules;
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace sluice::profiler
