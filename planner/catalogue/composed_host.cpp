#include "planner/catalogue/composed_host.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "planner/catalogue/stated_fact.hpp"

namespace sluice::planner {
namespace {

void set_interference_of_c2c(MachineProfile& machine) {
  const std::string measured = "as measured on one H200 host";
  machine.interference = {{LaneKind::compute, LaneKind::h2d, estimated(0.98, 0.03, measured)},
                          {LaneKind::compute, LaneKind::d2h, estimated(0.98, 0.03, measured)},
                          {LaneKind::cpu, LaneKind::d2h, estimated(0.92, 0.03, measured)}};
}

/// Sets the factors by which copies, the optimizer and products slow each other: means over hosts
/// of two H100 and three H200, whose optimizer runs on all of 16 cores but one or two
/// (docs/design/contention.md). `threads` is the number at which the optimizer fills the memory.
void set_interference(MachineProfile& machine, std::int64_t threads) {
  const std::string hosts = "mean over hosts of H100 and H200";
  struct Pair {
    LaneKind on, from;
    double alone, full;
  };
  constexpr std::array kByThreads = {Pair{LaneKind::cpu, LaneKind::h2d, 0.97, 0.91},
                                     Pair{LaneKind::cpu, LaneKind::d2h, 0.95, 0.83},
                                     Pair{LaneKind::h2d, LaneKind::cpu, 0.98, 0.76},
                                     Pair{LaneKind::d2h, LaneKind::cpu, 1, 0.90}};
  constexpr std::array kAlways = {Pair{LaneKind::compute, LaneKind::h2d, 0.99, 0},
                                  Pair{LaneKind::compute, LaneKind::d2h, 0.99, 0},
                                  Pair{LaneKind::compute, LaneKind::cpu, 0.99, 0},
                                  Pair{LaneKind::h2d, LaneKind::compute, 0.99, 0},
                                  Pair{LaneKind::d2h, LaneKind::compute, 0.99, 0},
                                  Pair{LaneKind::cpu, LaneKind::compute, 0.96, 0}};
  machine.interference.clear();
  for (const Pair& pair : kAlways) {
    machine.interference.push_back({pair.on, pair.from, estimated(pair.alone, 0.03, hosts)});
  }
  for (const Pair& pair : kByThreads) {
    machine.interference.push_back({pair.on, pair.from, estimated(pair.alone, 0.03, hosts), 1});
    if (threads > 1) {
      machine.interference.push_back(
          {pair.on, pair.from, estimated(pair.full, 0.05, hosts), threads});
    }
  }
}

/// Share of the theoretical peak of memory that all cores reach together. Published STREAM triads
/// with streaming stores are at 0.72 to 0.86 of it for DDR4 and DDR5 hosts, and CPU Adam moved 1.01
/// to 1.08 of the triad on two H200 hosts; LPDDR5X of a Grace somewhat more.
constexpr double kDramShare = 0.78, kGraceShare = 0.85, kDramDeviation = 0.10;
/// Bytes that CPU Adam moves per parameter.
constexpr double kUpdateBytes = 28;
/// Parameters/s of one core: stores past the caches from a core of a large server processor reach
/// 0.56 to 0.66 G on hosts of H100 and H200; the few cores of a desktop's wait less for memory.
constexpr double kUpdatesAServerCore = 0.60e9, kUpdatesACore = 0.87e9;
/// Bytes/s of updates on all cores, and of updates with copies in both directions, over those of a
/// triad (hosts of H100 and H200: 1.05 to 1.27, and 1.3 to 1.5).
constexpr double kUpdateOverTriad = 1.12, kMixOverTriad = 1.4;
/// Memory channels from which on a processor counts as a server's.
constexpr std::int64_t kServerChannels = 6;

double core_rate(const CpuPart& cpu) {
  return !cpu.c2c && cpu.unified_with.empty() && cpu.channels >= kServerChannels
             ? kUpdatesAServerCore
             : kUpdatesACore;
}

}  // namespace

double update_rate(const CpuPart& cpu) { return core_rate(cpu) * static_cast<double>(cpu.cores); }

void set_host(MachineProfile& machine, const CpuPart& cpu, const MemoryKit& kit) {
  constexpr double kUsable = 0.98;
  machine.host = estimated(kUsable * static_cast<double>(kit.total().count()), 0.01,
                           to_text(kit) + ", less 2 % that firmware and the system keep");
  machine.cores = datasheet(static_cast<double>(cpu.cores), 0, cpu.source);
  const double share = cpu.c2c ? kGraceShare : kDramShare;
  const double rate = share * memory_peak(cpu, kit).count();
  const std::int64_t channels = std::min(kit.count, cpu.channels);
  const double mixed = cpu.c2c ? 1 : kMixOverTriad;
  machine.dram =
      estimated(BytesPerSecond(mixed * rate), kDramDeviation,
                std::string(cpu.c2c ? "" : "1.4 of what all cores reach, ") +
                    (cpu.c2c ? "0.85 of " : "0.78 of ") + std::to_string(channels) +
                    " channels at " + std::to_string(memory_speed(cpu, kit)) + " MT/s, " +
                    std::to_string(std::llround(memory_peak(cpu, kit).count() / 1e9)) +
                    " GB/s (published triads: 0.72 to 0.86)");
  machine.update_dram =
      estimated(kUpdateBytes, 0.1,
                "12 bytes of state read and written and 4 bytes of gradient read a parameter");
  machine.update.clear();
  const double most = (cpu.c2c ? 1 : kUpdateOverTriad) * rate / kUpdateBytes;
  const double core = core_rate(cpu);
  const auto add = [&](std::int64_t threads) {
    // How sharply cores meet the memory's limit: fits 1 to 16 threads of the H200 host.
    constexpr double kKnee = 4;
    const double cores = core * static_cast<double>(threads);
    const double both = std::pow(std::pow(cores, -kKnee) + std::pow(most, -kKnee), -1 / kKnee);
    machine.update[threads] = estimated(
        both, 0.2,
        (core < kUpdatesACore ? std::string("0.60") : "0.87") + " G parameters/s a thread up to " +
            (cpu.c2c ? "" : "1.12 of ") + "what all cores reach of host memory over 28 bytes");
  };
  for (std::int64_t threads = 1; threads < cpu.cores; threads *= 2) add(threads);
  add(cpu.cores);
  if (cpu.c2c) {
    set_interference_of_c2c(machine);
  } else {
    // Updates fill the memory at about 1.6 times the threads that would, if cores did not wait.
    constexpr double kFull = 1.6;
    set_interference(machine,
                     std::clamp<std::int64_t>(std::llround(kFull * most / core), 1, cpu.cores));
  }
}

void set_disk(MachineProfile& machine, const CpuPart& cpu, const SsdSet& ssd) {
  constexpr double kFree = 0.9;
  const SsdPart& part = find_ssd(ssd.kind);
  const double drives = static_cast<double>(ssd.count);
  // A drive of a newer generation than its slot runs at the slot's rate.
  const double slot = std::ldexp(1.0, std::min(0, cpu.pcie - part.pcie));
  machine.disk = estimated(kFree * drives * static_cast<double>(part.size.count()), 0.05,
                           to_text(ssd) + ", a tenth of it in use");
  machine.disk_read = estimated(slot * drives * part.read, 0.3, to_text(ssd) + ": " + part.source);
  machine.disk_write =
      estimated(slot * drives * part.write, 0.4, to_text(ssd) + ": " + part.source);
}

}  // namespace sluice::planner
