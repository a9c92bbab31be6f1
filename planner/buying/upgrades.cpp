#include "planner/buying/upgrades.hpp"

#include <algorithm>

#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/memory_kits.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

/// The next larger member of an ascending list; none behind the last.
std::optional<std::int64_t> next_of(const std::vector<std::int64_t>& numbers, std::int64_t now) {
  const auto found = std::ranges::upper_bound(numbers, now);
  return found == numbers.end() ? std::nullopt : std::optional(*found);
}

std::string at_speed(const CpuPart& cpu, const MemoryKit& kit) {
  return to_text(kit) + " at " + std::to_string(memory_speed(cpu, kit)) + " MT/s";
}

PartChange with_ram(const Composition& parts, const MemoryKit& kit, const std::string& order) {
  const CpuPart& cpu = find_cpu(parts.cpu);
  PartChange change{
      .what = order + ": " + at_speed(cpu, kit) + " instead of " + at_speed(cpu, parts.ram),
      .setting = "--ram \"" + to_text(kit) + "\"",
      .parts = parts};
  change.parts.ram = kit;
  return change;
}

void add_memory(std::vector<PartChange>& changes, const Composition& parts) {
  const CpuPart& cpu = find_cpu(parts.cpu);
  if (const auto count = next_of(cpu.counts, parts.ram.count)) {
    MemoryKit kit = parts.ram;
    kit.count = *count;
    changes.push_back(
        with_ram(parts, kit, "+" + std::to_string(kit.count - parts.ram.count) + " DIMMs"));
  }
  if (const auto size = next_of(cpu.module_gib, parts.ram.module_gib)) {
    MemoryKit kit = parts.ram;
    kit.module_gib = *size;
    changes.push_back(with_ram(parts, kit, "larger DIMMs"));
  }
  MemoryKit faster = parts.ram;
  faster.speed = cpu.speeds.front();
  if (memory_speed(cpu, faster) > memory_speed(cpu, parts.ram)) {
    changes.push_back(with_ram(parts, faster, "faster DIMMs"));
  }
}

/// Adds the smallest kit of the board with `needed` bytes for a run; where none has, the cheapest
/// board with such a kit.
void add_enough_memory(std::vector<PartChange>& changes, const Composition& parts, Bytes needed) {
  auto enough = with_memory_for(parts, needed);
  std::string setting;
  if (!enough) {
    enough = with_board_for(parts, needed);
    if (!enough) return;
    setting = "--cpu " + enough->cpu + " ";
  }
  const std::string board = setting.empty() ? "" : enough->cpu + " with ";
  changes.push_back({.what = "enough memory: " + board +
                             at_speed(find_cpu(enough->cpu), enough->ram) + " instead of " +
                             at_speed(find_cpu(parts.cpu), parts.ram),
                     .setting = setting + "--ram \"" + to_text(enough->ram) + "\"",
                     .parts = *enough});
}

/// Adds a change of the board: to the slowest memory that is at least 1.3 times as fast as the
/// present one's.
void add_board(std::vector<PartChange>& changes, const Composition& parts) {
  const CpuPart& now = find_cpu(parts.cpu);
  if (!now.unified_with.empty()) return;
  const double rate = memory_peak(now, parts.ram).count();
  const CpuPart* best = nullptr;
  double best_rate = 0;
  for (const CpuPart& cpu : cpu_parts()) {
    if (!goes_with(find_gpu(parts.gpu), cpu)) continue;
    if (now.c2c || cpu.cores < now.cores || cpu.pcie < now.pcie) continue;
    const MemoryKit full{.count = cpu.channels,
                         .module_gib = cpu.module_gib.back(),
                         .kind = cpu.memory,
                         .speed = cpu.speeds.front()};
    const double other = memory_peak(cpu, full).count();
    if (other < 1.3 * rate || (best != nullptr && other >= best_rate)) continue;
    best = &cpu;
    best_rate = other;
  }
  if (best == nullptr) return;
  try {
    const std::string text =
        composed_text(to_text(parts), {.gpu = {}, .cpu = best->name, .ram = {}, .ssd = {}});
    PartChange change{
        .what = {}, .setting = "--cpu " + best->name, .parts = *find_composition(text)};
    change.what = best->name + " with " + at_speed(*best, change.parts.ram) + " instead of " +
                  now.name + " with " + at_speed(now, parts.ram);
    changes.push_back(std::move(change));
  } catch (const BadRequest&) {
    // Its drives do not fit that board: no single order.
  }
}

void add_gpus(std::vector<PartChange>& changes, const Composition& parts) {
  const GpuPart& now = find_gpu(parts.gpu);
  const CpuPart& cpu = find_cpu(parts.cpu);
  if (now.node_gpus > 1 || cpu.c2c || !cpu.unified_with.empty()) return;
  std::vector<const GpuPart*> faster;
  for (const GpuPart& gpu : gpu_parts()) {
    const bool card = gpu.node_gpus == 1 && gpu.link != HostLink::c2c &&
                      gpu.link != HostLink::unified && runs_the_engine(gpu.architecture);
    if (card && product_rate(gpu).count() > 1.15 * product_rate(now).count())
      faster.push_back(&gpu);
  }
  std::ranges::sort(faster, {}, [](const GpuPart* gpu) { return product_rate(*gpu).count(); });
  // One step up, and a large step.
  const GpuPart* last = nullptr;
  for (const double times : {1.25, 1.9}) {
    const auto found = std::ranges::find_if(faster, [&](const GpuPart* gpu) {
      return gpu != last && product_rate(*gpu).count() >= times * product_rate(now).count();
    });
    if (found == faster.end()) break;
    last = *found;
    PartChange change{.what = last->name + " instead of " + now.name,
                      .setting = "--gpu " + last->name,
                      .parts = parts};
    change.parts.gpu = last->name;
    changes.push_back(std::move(change));
  }
}

void add_drive(std::vector<PartChange>& changes, const Composition& parts) {
  PartChange change{.what = {}, .setting = {}, .parts = parts};
  ++change.parts.ssd.count;
  try {
    check_parts(change.parts);
  } catch (const BadRequest&) {
    return;  // No lanes left.
  }
  change.what = "+1 SSD: " + to_text(change.parts.ssd) + " instead of " + to_text(parts.ssd);
  change.setting = "--ssd \"" + to_text(change.parts.ssd) + "\"";
  changes.push_back(std::move(change));
}

/// Whether there is a fabric between the GPUs, and the CPUs have lanes for all.
bool can_be_connected(const PartChange& change) {
  if (change.gpus == 1) return true;
  if (find_gpu(change.parts.gpu).fabric.empty()) return false;
  try {
    (void)lanes_of_each(change.machine());
    return true;
  } catch (const BadRequest&) {
    return false;
  }
}

void add_more_gpus(std::vector<PartChange>& changes, const CountedParts& machine) {
  constexpr std::int64_t kMost = 8;
  const GpuPart& gpu = find_gpu(machine.parts.gpu);
  if (gpu.node_gpus > 1 || 2 * machine.gpus > kMost) return;
  PartChange change{.what = {}, .setting = {}, .parts = machine.parts, .gpus = 2 * machine.gpus};
  change.what = "+" + std::to_string(machine.gpus) +
                (machine.gpus == 1 ? " GPU: a second " : " GPUs: " + std::to_string(change.gpus)) +
                (machine.gpus == 1 ? "" : " ") + gpu.name;
  change.setting = "--machine \"" + to_text(change.machine()) + "\"";
  change.setting += " --devices " + std::to_string(change.gpus);
  changes.push_back(std::move(change));
}

}  // namespace

FlopsPerSecond product_rate(const GpuPart& gpu) {
  return gpu.saturated.value_or(
      FlopsPerSecond(compose(find_composition(gpu.name).value()).gemm.back().rate.value));
}

std::vector<PartChange> part_changes(const CountedParts& machine, std::optional<Bytes> needed) {
  const Composition& parts = machine.parts;
  std::vector<PartChange> changes;
  if (needed) {
    const std::int64_t sockets = sockets_of(find_cpu(parts.cpu), machine.gpus);
    add_enough_memory(changes, parts, Bytes(needed->count() / sockets));
  }
  add_memory(changes, parts);
  add_board(changes, parts);
  add_gpus(changes, parts);
  add_drive(changes, parts);
  for (PartChange& change : changes) change.gpus = machine.gpus;
  add_more_gpus(changes, machine);
  std::erase_if(changes, [](const PartChange& change) { return !can_be_connected(change); });
  // What is enough may also be the next larger kit.
  for (std::size_t i = changes.size(); needed && i-- > 1;) {
    if (changes[i].machine() == changes[0].machine()) {
      changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return changes;
}

}  // namespace sluice::planner
