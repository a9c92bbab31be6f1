#include "planner/catalogue/parts.hpp"

#include <algorithm>
#include <map>
#include <regex>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/files/choice.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

constexpr double kGiga = 1e9, kTera = 1e12;

sim::JsonDocument part_file(const std::string& name) {
  for (const CatalogueFile& file : catalogue_parts_files()) {
    if (file.name == name) return sim::parse_json(file.text, "catalogue parts " + name);
  }
  throw std::logic_error("the catalogue has no parts " + name);
}

std::vector<std::int64_t> integers(const sim::JsonObject& json, std::string_view key) {
  std::vector<std::int64_t> all;
  for (const double value : json.numbers(key)) all.push_back(static_cast<std::int64_t>(value));
  return all;
}

Bytes gibibytes(std::int64_t count) { return Bytes(count << 30); }

GpuPart read_gpu(const sim::JsonObject& json, const sim::JsonObject& rules) {
  GpuPart gpu;
  gpu.name = json.text("name");
  gpu.architecture = json.text("architecture");
  gpu.memory = gibibytes(json.integer("memory_gib"));
  gpu.inline_ecc = json.find_text("ecc").has_value();
  gpu.bandwidth = BytesPerSecond(json.number("bandwidth_gb_s") * kGiga);
  gpu.peak = FlopsPerSecond(json.number("peak_tflops") * kTera);
  gpu.peak_deviation = json.find_number("peak_deviation").value_or(0);
  gpu.link = parse_choice(json.text("link"), json.where() + ": link",
                          {HostLink::pcie3, HostLink::pcie4, HostLink::pcie5, HostLink::c2c,
                           HostLink::c2c_shared, HostLink::pcie5_x8, HostLink::unified});
  gpu.fabric = json.find_text("fabric").value_or("");
  gpu.watts = json.number("watts");
  gpu.like = json.text("like");
  if (const auto rate = json.find_number("saturated_tflops")) {
    gpu.saturated = FlopsPerSecond(*rate * kTera);
    gpu.saturated_deviation = json.number("saturated_deviation");
  }
  gpu.rule = rules.text(json.text("rule"));
  gpu.node_gpus = json.find_integer("node_gpus").value_or(1);
  if (const auto memory = json.find_integer("node_gib")) {
    gpu.node = NodeHost{.memory = gibibytes(*memory),
                        .cores = json.integer("node_cores"),
                        .source = json.text("node_source")};
  }
  gpu.node_link = BytesPerSecond(json.find_number("node_link_gb_s").value_or(0) * kGiga);
  gpu.is_rare = json.find_boolean("rare").value_or(false);
  gpu.source = json.text("source");
  return gpu;
}

CpuPart read_cpu(const sim::JsonObject& json) {
  return {.name = json.text("name"),
          .cores = json.integer("cores"),
          .pcie = static_cast<int>(json.integer("pcie")),
          .lanes = json.integer("lanes"),
          .memory = json.text("memory"),
          .channels = json.integer("channels"),
          .slots = json.integer("slots"),
          .counts = integers(json, "counts"),
          .speeds = integers(json, "speeds"),
          .module_gib = integers(json, "module_gib"),
          .c2c = json.find_boolean("c2c").value_or(false),
          .unified_with = json.find_text("unified_with").value_or(""),
          .is_arm = json.find_boolean("arm").value_or(false),
          .server = json.find_boolean("server").value_or(false),
          .source = json.text("source")};
}

SsdPart read_ssd(const sim::JsonObject& json) {
  return {.name = json.text("name"),
          .pcie = static_cast<int>(json.integer("pcie")),
          .size = Bytes(static_cast<std::int64_t>(json.number("tb") * kTera)),
          .read = BytesPerSecond(json.number("read_gb_s") * kGiga),
          .write = BytesPerSecond(json.number("write_gb_s") * kGiga),
          .endurance = json.number("endurance_tb_per_tb"),
          .source = json.text("source")};
}

template <class Part>
const Part& find_part(const std::vector<Part>& parts, const std::string& name,
                      const std::string& field) {
  const auto found = std::ranges::find(parts, name, &Part::name);
  if (found != parts.end()) return *found;
  std::vector<std::string> names;
  std::string all;
  for (const Part& part : parts) {
    names.push_back(part.name);
    all += (all.empty() ? "" : ", ") + part.name;
  }
  throw BadRequest(field + ": \"" + name + "\" is unknown" + sim::did_you_mean(name, names) +
                   " (known: " + all + ")");
}

std::map<std::string, std::vector<std::int64_t>> read_speeds() {
  const sim::JsonDocument file = part_file("cpus");
  const sim::JsonObject json(file, "catalogue parts cpus");
  const sim::JsonObject speeds = json.object("speeds");
  std::map<std::string, std::vector<std::int64_t>> all;
  for (const std::string& kind : speeds.keys()) all[kind] = integers(speeds, kind);
  return all;
}

const std::map<std::string, std::vector<std::int64_t>>& all_speeds() {
  static const auto speeds = read_speeds();
  return speeds;
}

}  // namespace

const char* to_string(HostLink link) {
  switch (link) {
    case HostLink::pcie3:
      return "pcie3";
    case HostLink::pcie4:
      return "pcie4";
    case HostLink::pcie5:
      return "pcie5";
    case HostLink::c2c:
      return "c2c";
    case HostLink::c2c_shared:
      return "c2c-shared";
    case HostLink::pcie5_x8:
      return "pcie5-x8";
    case HostLink::unified:
      return "unified";
  }
  return "";
}

std::string module_text(const MemoryKit& kit) {
  return std::to_string(kit.module_gib) + " GiB " + kit.kind + "-" + std::to_string(kit.speed);
}

std::string to_text(const MemoryKit& kit) {
  return std::to_string(kit.count) + "x" + module_text(kit);
}

std::string to_text(const SsdSet& set) { return std::to_string(set.count) + "x " + set.kind; }

const std::vector<GpuPart>& gpu_parts() {
  static const std::vector<GpuPart> parts = [] {
    const sim::JsonDocument file = part_file("gpus");
    const sim::JsonObject json(file, "catalogue parts gpus");
    std::vector<GpuPart> all;
    for (const auto& gpu : json.objects("gpus")) all.push_back(read_gpu(gpu, json.object("rules")));
    return all;
  }();
  return parts;
}

const std::vector<CpuPart>& cpu_parts() {
  static const std::vector<CpuPart> parts = [] {
    const sim::JsonDocument file = part_file("cpus");
    std::vector<CpuPart> all;
    for (const auto& cpu : sim::JsonObject(file, "catalogue parts cpus").objects("cpus")) {
      all.push_back(read_cpu(cpu));
    }
    return all;
  }();
  return parts;
}

const PowerRule& power_rule() {
  static const PowerRule rule = [] {
    const sim::JsonDocument file = part_file("cpus");
    const sim::JsonObject json = sim::JsonObject(file, "catalogue parts cpus").object("watts");
    return PowerRule{.core = json.number("core"),
                     .core_low = json.number("core_low"),
                     .core_high = json.number("core_high"),
                     .gpu_low = json.number("gpu_low"),
                     .source = json.text("source")};
  }();
  return rule;
}

const std::vector<SsdPart>& ssd_parts() {
  static const std::vector<SsdPart> parts = [] {
    const sim::JsonDocument file = part_file("ssds");
    std::vector<SsdPart> all;
    for (const auto& ssd : sim::JsonObject(file, "catalogue parts ssds").objects("ssds")) {
      all.push_back(read_ssd(ssd));
    }
    return all;
  }();
  return parts;
}

const GpuPart& find_gpu(const std::string& name, const std::string& field) {
  return find_part(gpu_parts(), name, field);
}
const CpuPart& find_cpu(const std::string& name, const std::string& field) {
  return find_part(cpu_parts(), name, field);
}
const SsdPart& find_ssd(const std::string& name, const std::string& field) {
  return find_part(ssd_parts(), name, field);
}

const std::vector<std::int64_t>& module_speeds(const std::string& kind) {
  return all_speeds().at(kind);
}

MemoryKit parse_memory_kit(const std::string& text, const std::string& field) {
  static const std::regex form(
      R"(\s*(\d{1,3})\s*x\s*(\d{1,4})\s*GiB\s+([A-Za-z0-9]+)-(\d{3,5})\s*)");
  std::smatch found;
  if (!std::regex_match(text, found, form)) {
    throw BadRequest(field + ": \"" + text +
                     "\" must be COUNTxSIZE GiB KIND-SPEED, such as \"4x32 GiB DDR5-5600\"");
  }
  MemoryKit kit{.count = std::stoll(found[1]),
                .module_gib = std::stoll(found[2]),
                .kind = found[3],
                .speed = std::stoll(found[4])};
  if (!all_speeds().contains(kit.kind)) {
    std::vector<std::string> kinds;
    for (const auto& [kind, speeds] : all_speeds()) kinds.push_back(kind);
    throw BadRequest(field + ": \"" + kit.kind + "\" is no kind of memory known here" +
                     sim::did_you_mean(kit.kind, kinds));
  }
  return kit;
}

SsdSet parse_ssd_set(const std::string& text, const std::string& field) {
  static const std::regex form(R"(\s*(\d{1,2})\s*x\s*([A-Za-z0-9-]+)\s*)");
  std::smatch found;
  if (!std::regex_match(text, found, form) || found[1] == "0") {
    throw BadRequest(field + ": \"" + text + "\" must be COUNTx KIND, such as \"1x gen4\"");
  }
  SsdSet set{.count = std::stoll(found[1]), .kind = found[2]};
  (void)find_ssd(set.kind, field);
  return set;
}

}  // namespace sluice::planner
