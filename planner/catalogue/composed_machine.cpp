#include "planner/catalogue/composed_machine.hpp"

#include <algorithm>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/counted_machine.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

std::vector<Build> read_builds() {
  std::vector<Build> all;
  for (const CatalogueFile& file : catalogue_parts_files()) {
    if (file.name != "builds") continue;
    const sim::JsonDocument parsed = sim::parse_json(file.text, "catalogue builds");
    for (const auto& json : sim::JsonObject(parsed, "catalogue builds").objects("builds")) {
      all.push_back({.name = json.text("name"),
                     .parts = {.gpu = json.text("gpu"),
                               .cpu = json.text("cpu"),
                               .ram = parse_memory_kit(json.text("ram"), json.where()),
                               .ssd = parse_ssd_set(json.text("ssd"), json.where())},
                     .profile = json.find_text("profile"),
                     .share = json.find_text("share").value_or("")});
    }
  }
  std::ranges::sort(all, {}, &Build::name);
  return all;
}

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return text;
}

bool holds(const std::vector<std::int64_t>& numbers, std::int64_t number) {
  return std::ranges::find(numbers, number) != numbers.end();
}

void check_memory(const CpuPart& cpu, const MemoryKit& kit) {
  if (kit.kind != cpu.memory) {
    throw BadRequest("ram: " + kit.kind + " does not go into " + cpu.name + ", which takes " +
                     cpu.memory);
  }
  if (!holds(cpu.counts, kit.count)) {
    throw BadRequest("ram: " + cpu.name + " with " + std::to_string(cpu.channels) +
                     " channels and " + std::to_string(cpu.slots) + " slots does not take " +
                     std::to_string(kit.count) + " modules: one of " + listed(cpu.counts));
  }
  if (!holds(cpu.module_gib, kit.module_gib)) {
    throw BadRequest("ram: " + cpu.name + " does not take modules of " +
                     std::to_string(kit.module_gib) + " GiB: one of " + listed(cpu.module_gib) +
                     " GiB");
  }
  if (!holds(module_speeds(kit.kind), kit.speed)) {
    throw BadRequest("ram: there is no " + kit.kind + "-" + std::to_string(kit.speed) +
                     ": one of " + listed(module_speeds(kit.kind)));
  }
}

bool needs_c2c(const GpuPart& gpu) {
  return gpu.link == HostLink::c2c || gpu.link == HostLink::c2c_shared;
}

/// Throws BadRequest where one part shares its memory with another than the other part.
void check_unified(const GpuPart& gpu, const CpuPart& cpu) {
  if (!cpu.unified_with.empty() && cpu.unified_with != gpu.name) {
    throw BadRequest("gpu: " + cpu.name + " is one chip with " + cpu.unified_with + ", not with " +
                     gpu.name);
  }
  if (gpu.link == HostLink::unified && cpu.unified_with != gpu.name) {
    throw BadRequest("cpu: " + gpu.name + " is one chip with its CPU and memory, not with " +
                     cpu.name);
  }
}

/// Throws BadRequest where the board cannot hold the GPU: boards for eight GPUs are those of
/// servers.
void check_board(const GpuPart& gpu, const CpuPart& cpu) {
  if (!goes_with(gpu, cpu)) {
    std::string servers;
    for (const CpuPart& other : cpu_parts()) {
      if (other.server) servers += (servers.empty() ? "" : ", ") + other.name;
    }
    throw BadRequest("cpu: " + gpu.name + " is a module of nodes with " +
                     std::to_string(gpu.node_gpus) + " GPUs, whose boards do not take " + cpu.name +
                     ": one of " + servers);
  }
}

void check_lanes(const GpuPart& gpu, const CpuPart& cpu, const SsdSet& ssd) {
  constexpr std::int64_t kGpuLanes = 16, kSsdLanes = 4;
  const bool takes_lanes = !needs_c2c(gpu) && gpu.link != HostLink::unified;
  const std::int64_t left = cpu.lanes - (takes_lanes ? kGpuLanes : 0);
  if (ssd.count * kSsdLanes > left) {
    throw BadRequest("ssd: " + std::to_string(ssd.count) + " drives need " +
                     std::to_string(ssd.count * kSsdLanes) + " PCIe lanes, and " + cpu.name +
                     " has " + std::to_string(left) + " beside the GPU: at most " +
                     std::to_string(left / kSsdLanes) + " drives");
  }
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t plus = std::min(text.find('+', start), text.size());
    words.push_back(trimmed(text.substr(start, plus - start)));
    start = plus + 1;
  }
  return words;
}

/// Whether `word` states a memory kit, such as "4x32 GiB DDR5-5600".
bool is_memory(const std::string& word) { return word.find("GiB") != std::string::npos; }
bool is_ssd(const std::string& word) {
  const auto x = word.find('x');
  return x != std::string::npos && x > 0 &&
         std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(x),
                     [](char letter) { return letter >= '0' && letter <= '9'; });
}

void replace(Composition& parts, const std::string& word) {
  if (is_memory(word)) {
    parts.ram = parse_memory_kit(word);
  } else if (is_ssd(word)) {
    parts.ssd = parse_ssd_set(word);
  } else {
    parts.cpu = find_cpu(word).name;
  }
}

/// The build that a GPU is found in: the one of its own name, else the first.
const Build* build_of_gpu(const std::string& gpu) {
  if (const Build* own = find_build(gpu); own != nullptr && own->parts.gpu == gpu) return own;
  const auto found =
      std::ranges::find_if(builds(), [&gpu](const Build& build) { return build.parts.gpu == gpu; });
  return found == builds().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<Build>& builds() {
  static const std::vector<Build> all = read_builds();
  return all;
}

const Build* find_build(const std::string& name) {
  const auto found = std::ranges::find(builds(), name, &Build::name);
  return found == builds().end() ? nullptr : &*found;
}

bool goes_with(const GpuPart& gpu, const CpuPart& cpu) {
  if (gpu.link == HostLink::unified || !cpu.unified_with.empty()) {
    return cpu.unified_with == gpu.name;
  }
  if (needs_c2c(gpu) || cpu.c2c) return needs_c2c(gpu) == cpu.c2c;
  return gpu.node_gpus == 1 || cpu.server;
}

void check_parts(const Composition& parts) {
  const GpuPart& gpu = find_gpu(parts.gpu);
  const CpuPart& cpu = find_cpu(parts.cpu);
  check_unified(gpu, cpu);
  if (needs_c2c(gpu) != cpu.c2c) {
    throw BadRequest(needs_c2c(gpu)
                         ? "cpu: " + gpu.name + " is joined to a grace CPU, not to " + cpu.name
                         : "gpu: " + gpu.name + " is no superchip, and " + cpu.name +
                               " comes only on one (gh200, gb200)");
  }
  check_board(gpu, cpu);
  check_memory(cpu, parts.ram);
  check_lanes(gpu, cpu, parts.ssd);
}

std::int64_t memory_speed(const CpuPart& cpu, const MemoryKit& kit) {
  const std::size_t deep = kit.count > cpu.channels && cpu.speeds.size() > 1 ? 1 : 0;
  return std::min(kit.speed, cpu.speeds[deep]);
}

BytesPerSecond memory_peak(const CpuPart& cpu, const MemoryKit& kit) {
  constexpr double kBytesATransfer = 8, kMega = 1e6;
  return BytesPerSecond(static_cast<double>(std::min(kit.count, cpu.channels)) * kBytesATransfer *
                        static_cast<double>(memory_speed(cpu, kit)) * kMega);
}

std::optional<Composition> find_composition(const std::string& text) {
  if (text.ends_with(".json")) return std::nullopt;
  const std::vector<std::string> words = words_of(text);
  const Build* build = find_build(words.front());
  if (build == nullptr) build = build_of_gpu(words.front());
  if (build == nullptr) return std::nullopt;
  Composition parts = build->parts;
  for (std::size_t i = 1; i < words.size(); ++i) replace(parts, words[i]);
  check_parts(parts);
  return parts;
}

std::string to_text(const Composition& parts) {
  const auto same = std::ranges::find(builds(), parts, &Build::parts);
  if (same != builds().end()) return same->name;
  const Build* near = build_of_gpu(parts.gpu);
  std::string text = near == nullptr ? parts.gpu : near->name;
  const bool all = near == nullptr;
  if (all || parts.cpu != near->parts.cpu) text += " + " + parts.cpu;
  if (all || parts.ram != near->parts.ram) text += " + " + to_text(parts.ram);
  if (all || parts.ssd != near->parts.ssd) text += " + " + to_text(parts.ssd);
  return text;
}

std::string composed_text(const std::optional<std::string>& base, const PartFlags& flags) {
  const CountedMachine many = base ? counted_machine(*base) : CountedMachine{};
  std::optional<Composition> parts;
  if (base) parts = find_composition(many.machine);
  if (!parts && flags.gpu) parts = find_composition(find_gpu(*flags.gpu, "--gpu").name);
  if (!parts) {
    throw BadRequest(
        base
            ? "machine: parts of \"" + *base + "\" are not known: --cpu, --ram and --ssd replace " +
                  "those of a catalogue machine; set numbers of a file with --set "
                  "machine.NAME=VALUE"
            : "gpu is missing: --cpu, --ram and --ssd need --gpu NAME or --machine NAME");
  }
  if (flags.gpu) parts->gpu = find_gpu(*flags.gpu, "--gpu").name;
  if (flags.cpu) parts->cpu = find_cpu(*flags.cpu, "--cpu").name;
  if (flags.ram) parts->ram = parse_memory_kit(*flags.ram, "--ram");
  if (flags.ssd) parts->ssd = parse_ssd_set(*flags.ssd, "--ssd");
  // A new CPU without a stated memory gets as much of the kind that fits it, one module a channel.
  if (flags.cpu && !flags.ram) {
    const CpuPart& cpu = find_cpu(parts->cpu);
    const std::int64_t wanted = parts->ram.total().count() >> 30;
    const std::int64_t each = (wanted + cpu.channels - 1) / cpu.channels;
    const auto size =
        std::ranges::find_if(cpu.module_gib, [each](std::int64_t gib) { return gib >= each; });
    parts->ram = {.count = cpu.channels,
                  .module_gib = size == cpu.module_gib.end() ? cpu.module_gib.back() : *size,
                  .kind = cpu.memory,
                  .speed = cpu.speeds.front()};
  }
  check_parts(*parts);
  return counted_name({.gpus = many.gpus, .machine = to_text(*parts)});
}

}  // namespace sluice::planner
