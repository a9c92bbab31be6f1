#include "planner/catalogue/memory_kits.hpp"

#include "sim/error.hpp"

namespace sluice::planner {

std::optional<Composition> with_memory_for(const Composition& parts, Bytes needed) {
  constexpr double kUsable = 0.98;  // The share that compose() uses.
  const CpuPart& cpu = find_cpu(parts.cpu);
  std::optional<Composition> best;
  for (const std::int64_t count : cpu.counts) {
    for (const std::int64_t size : cpu.module_gib) {
      MemoryKit kit = parts.ram;
      kit.count = count;
      kit.module_gib = size;
      if (kUsable * static_cast<double>(kit.total().count()) <
          static_cast<double>(needed.count())) {
        continue;
      }
      // The least memory, and of equal amounts the one that runs fastest.
      const bool less = !best || kit.total() < best->ram.total();
      const bool faster = best && kit.total() == best->ram.total() &&
                          memory_peak(cpu, kit) > memory_peak(cpu, best->ram);
      if (!less && !faster) continue;
      best = parts;
      best->ram = kit;
    }
  }
  return best;
}

std::optional<Composition> with_board_for(const Composition& parts, Bytes needed) {
  constexpr std::int64_t kUsualModule = 128;
  const CpuPart& now = find_cpu(parts.cpu);
  std::optional<Composition> best;
  for (const CpuPart& cpu : cpu_parts()) {
    if (!goes_with(find_gpu(parts.gpu), cpu)) continue;
    if (now.c2c || cpu.pcie < now.pcie || cpu.cores < now.cores) continue;
    if (best && cpu.channels >= find_cpu(best->cpu).channels) continue;
    Composition other = parts;
    other.cpu = cpu.name;
    other.ram = {.count = cpu.channels,
                 .module_gib = cpu.module_gib.front(),
                 .kind = cpu.memory,
                 .speed = cpu.speeds.front()};
    const auto larger = with_memory_for(other, needed);
    if (!larger || larger->ram.module_gib > kUsualModule) continue;
    try {
      check_parts(*larger);
    } catch (const BadRequest&) {
      continue;  // Its drives do not fit that board.
    }
    best = larger;
  }
  return best;
}

}  // namespace sluice::planner
