#include "planner/catalogue/cluster.hpp"

#include <regex>

#include "planner/catalogue/counted_machine.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// Share of a NIC's bits that is payload.
constexpr double kPayload = 0.96;
constexpr double kGigabit = 1e9, kBitsOfAByte = 8;

/// Gbit/s of NICs that are named by their number and speed; none for other words.
std::optional<double> gigabits(const std::string& text) {
  static const std::regex form(
      R"(\s*(?:([1-9]\d{0,2})\s*x\s*)?(\d{1,5}(?:\.\d+)?)\s*(?:GbE|Gbit/s|Gbps)\s*)");
  std::smatch found;
  if (!std::regex_match(text, found, form)) return std::nullopt;
  const double count = found[1].matched ? std::stod(found[1]) : 1;
  return count * std::stod(found[2]);
}

bool is_nic(const std::string& text) { return gigabits(text) || text.ends_with("B/s"); }

}  // namespace

std::optional<Cluster> cluster_named(const std::string& name) {
  static const std::regex form(R"(\s*([1-9]\d{0,4}) hosts? of (\S.*))");
  std::smatch found;
  if (!std::regex_match(name, found, form)) return std::nullopt;
  Cluster cluster{.hosts = std::stoll(found[1]), .machine = found[2], .nic = {}};
  const std::string plus = " + ";
  const std::size_t last = cluster.machine.rfind(plus);
  if (last != std::string::npos && is_nic(cluster.machine.substr(last + plus.size()))) {
    cluster.nic = cluster.machine.substr(last + plus.size());
    cluster.machine.resize(last);
  }
  return cluster;
}

std::string to_text(const Cluster& cluster) {
  std::string text = std::to_string(cluster.hosts) + (cluster.hosts == 1 ? " host" : " hosts");
  text += " of " + cluster.machine;
  if (!cluster.nic.empty()) text += " + " + cluster.nic;
  return text;
}

std::int64_t gpus_named(const std::string& name) {
  const auto cluster = cluster_named(name);
  if (!cluster) return counted_machine(name).gpus;
  return cluster->hosts * counted_machine(cluster->machine).gpus;
}

BytesPerSecond parse_nic(const std::string& text, const std::string& field) {
  if (const auto bits = gigabits(text)) {
    return BytesPerSecond(*bits * kGigabit / kBitsOfAByte * kPayload);
  }
  if (!text.ends_with("B/s")) {
    throw BadRequest(field + ": \"" + text +
                     "\" is no set of NICs: write for example \"8x400GbE\", \"100 Gbit/s\" or "
                     "\"47 GB/s\"");
  }
  return parse_bytes_per_second(text, field);
}

}  // namespace sluice::planner
