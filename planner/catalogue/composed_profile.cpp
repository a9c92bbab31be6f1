// The profile of a machine put together from parts, each number with its rule.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

Fact estimated(double value, double relative, const std::string& rule) {
  return {.value = value,
          .deviation = value * relative,
          .count = 0,
          .source = Source::estimated,
          .note = rule};
}

Fact datasheet(double value, double relative, const std::string& source) {
  return {.value = value,
          .deviation = value * relative,
          .count = 1,
          .source = Source::datasheet,
          .note = source};
}

Fact scaled(const Fact& fact, double factor, double relative, const std::string& rule) {
  return estimated(fact.value * factor, std::max(relative, fact.deviation / fact.value), rule);
}

MachineProfile reference(const std::string& gpu) {
  for (const auto* files : {&catalogue_gpus_files(), &catalogue_machines_files()}) {
    for (const CatalogueFile& file : *files) {
      if (file.name == gpu) return profile_from_json(file.text, "catalogue " + gpu);
    }
  }
  throw std::logic_error("the catalogue has no measured GPU " + gpu);
}

void set_memory(MachineProfile& machine, const GpuPart& gpu) {
  constexpr double kReserved = 0.985, kInlineEcc = 15.0 / 16, kHalfGiB = 1 << 29;
  const double bytes = static_cast<double>(gpu.memory.count());
  machine.hbm = gpu.inline_ecc
                    ? estimated(bytes * kInlineEcc - kHalfGiB, 0.01,
                                gpu.source + ", less inline ECC (1/16) and 0.5 GiB of the driver")
                    : estimated(bytes * kReserved, 0.01,
                                gpu.source +
                                    ", less 1.5 % that driver and ECC keep (as measured "
                                    "on one H200: 139 of 141 GiB)");
  machine.context = estimated(671088640, 0.2,
                              "CUDA context, cuBLASLt, cuDNN and their loaded kernels, outside the "
                              "arena");
  machine.hbm_bandwidth = datasheet(gpu.bandwidth.count(), 0.1, gpu.source);
  // The optimizer reads and writes 12 bytes of state and reads 4 of gradient.
  machine.device_update = estimated(0.85 * gpu.bandwidth.count() / 28, 0.15,
                                    "0.85 of the memory bandwidth over 28 bytes a parameter");
}

/// Largest rate of products over the peak, for a GPU that throttles more than the GPU it is scaled
/// from.
constexpr double kMostOfPeak = 0.95;

/// Sets the kernel curves: those of the measured GPU that this one is like, scaled to its own large
/// products.
void set_kernels(MachineProfile& machine, const GpuPart& gpu) {
  const MachineProfile like = reference(gpu.like);
  machine.peak_bf16 = gpu.peak_deviation > 0
                          ? estimated(gpu.peak.count(), gpu.peak_deviation, gpu.source)
                          : datasheet(gpu.peak.count(), 0, gpu.source);
  machine.gemm = like.gemm;
  machine.attention_forward = like.attention_forward;
  machine.attention_backward = like.attention_backward;
  machine.attention = like.attention;
  machine.launch = like.launch;
  machine.kernel_overhead = like.kernel_overhead;
  double saturated = like.gemm.back().rate.value;
  if (gpu.saturated) {
    const double factor = gpu.saturated->count() / saturated;
    const std::string rule = gpu.like + "'s measured rate scaled: " + gpu.rule;
    for (CurvePoint& point : machine.gemm) {
      point.rate = scaled(point.rate, factor, gpu.saturated_deviation, rule);
      point.rate.value = std::min(point.rate.value,
                                  std::max(kMostOfPeak * gpu.peak.count(), gpu.saturated->count()));
    }
    std::vector<Fact*> attention{&machine.attention_forward, &machine.attention_backward};
    for (AttentionPoint& point : machine.attention) {
      attention.insert(attention.end(), {&point.forward, &point.backward});
    }
    for (Fact* rate : attention) {
      *rate = scaled(*rate, factor, std::max(0.25, gpu.saturated_deviation), rule);
    }
    saturated = gpu.saturated->count();
  }
  // Ceilings: the shares of the peak that an H200 reached, no less than the rates above.
  const std::string share =
      "the share of the dense peak that an H200 reached, at least 1.05 of "
      "the rate large products are taken to have";
  machine.gemm_ceiling = estimated(
      std::min(gpu.peak.count(), std::max(0.824 * gpu.peak.count(), 1.05 * saturated)), 0.1, share);
  machine.attention_forward_ceiling =
      estimated(std::max(0.617 * gpu.peak.count(), machine.attention_forward.value), 0.1, share);
  machine.attention_backward_ceiling =
      estimated(std::max(0.551 * gpu.peak.count(), machine.attention_backward.value), 0.1, share);
}

struct LinkRates {
  /// Bytes/s in each direction: alone, and while the other direction runs.
  double h2d, d2h, h2d_duplex, d2h_duplex;
  const char* source;
};

LinkRates rates_of(HostLink link) {
  switch (link) {
    case HostLink::pcie3:
      return {12.35e9, 12.9e9, 10.5e9, 10.5e9,
              "PCIe 3 x16: 12.35 GB/s measured on a V100 (te42kyfo/gpu-benches); both ways at once "
              "0.85 of it"};
    case HostLink::pcie4:
      return {25.9e9, 26e9, 18.6e9, 18.6e9,
              "PCIe 4 x16: NVIDIA/nvbandwidth README sample, 26.0 alone and 18.6 each way at once"};
    case HostLink::pcie5:
      return {55e9, 55e9, 51e9, 50e9, "PCIe 5 x16, as measured on one H200 host"};
    case HostLink::c2c:
      return {346e9, 297e9, 300e9, 260e9,
              "NVLink-C2C: NVIDIA/nvbandwidth issue 23 and arXiv:2408.11556"};
    case HostLink::c2c_shared:
      return {173e9, 148e9, 150e9, 130e9,
              "NVLink-C2C of a CPU that two GPUs share: half of a GH200's"};
    case HostLink::pcie5_x8:
      return {27.5e9, 27.5e9, 25e9, 25e9, "PCIe 5 x8: half of x16, as measured on one H200 host"};
    case HostLink::unified:
      break;  // set_one_memory() has its rates.
  }
  throw std::logic_error("no such link");
}

/// The slower of the GPU's link and the CPU's PCIe generation.
HostLink slower(HostLink gpu, int cpu_generation) {
  constexpr std::array kByGeneration = {HostLink::pcie3, HostLink::pcie4, HostLink::pcie5};
  if (gpu == HostLink::c2c || gpu == HostLink::c2c_shared) return gpu;
  if (gpu == HostLink::pcie5_x8 && cpu_generation >= 5) return gpu;
  // Eight lanes of PCIe 4 are as fast as sixteen of PCIe 3.
  if (gpu == HostLink::pcie5_x8) return HostLink::pcie3;
  const int own = gpu == HostLink::pcie3 ? 3 : gpu == HostLink::pcie4 ? 4 : 5;
  return kByGeneration.at(static_cast<std::size_t>(std::min(own, cpu_generation) - 3));
}

void set_link(MachineProfile& machine, const GpuPart& gpu, const CpuPart& cpu) {
  const bool is_one_memory = gpu.link == HostLink::unified;
  const LinkRates rates = rates_of(is_one_memory ? HostLink::c2c : slower(gpu.link, cpu.pcie));
  machine.h2d = estimated(rates.h2d, 0.05, rates.source);
  machine.d2h = estimated(rates.d2h, 0.05, rates.source);
  machine.h2d_duplex = estimated(rates.h2d_duplex, 0.15, rates.source);
  machine.d2h_duplex = estimated(rates.d2h_duplex, 0.15, rates.source);
  machine.copy_latency = estimated(3e-6, 0.5, "as measured on one H200 host");
  machine.staged_copy = estimated(16e9, 0.375, "three threads copying into a pinned ring");
  machine.copy_cores = estimated(0, 0, "copy engines use no core");
  const bool joined = gpu.link == HostLink::c2c || gpu.link == HostLink::c2c_shared;
  const std::string traffic = joined ? "as fitted on one H200 host to copies under CPU Adam"
                                     : "a byte copied is a byte read or written";
  machine.h2d_dram = estimated(joined ? 0.49 : 1, 0.3, traffic);
  machine.d2h_dram = estimated(joined ? 0.76 : 1, 0.3, traffic);
  for (Fact* weight : {&machine.h2d_weight, &machine.d2h_weight}) {
    *weight = estimated(0, 0, "not fitted: the cost model has its own");
  }
}

void set_interference_of_c2c(MachineProfile& machine) {
  const std::string measured = "as measured on one H200 host";
  machine.interference = {{"compute", "h2d", estimated(0.98, 0.03, measured)},
                          {"compute", "d2h", estimated(0.98, 0.03, measured)},
                          {"cpu", "d2h", estimated(0.92, 0.03, measured)}};
}

/// Sets the factors by which copies, the optimizer and products slow each other: means over hosts
/// of two H100 and three H200, whose optimizer runs on all of 16 cores but one or two
/// (docs/design/contention.md). `threads` is the number at which the optimizer fills the memory.
void set_interference(MachineProfile& machine, std::int64_t threads) {
  const std::string hosts = "mean over hosts of H100 and H200";
  struct Pair {
    const char *on, *from;
    double alone, full;
  };
  constexpr std::array kByThreads = {Pair{"cpu", "h2d", 0.97, 0.91}, Pair{"cpu", "d2h", 0.95, 0.83},
                                     Pair{"h2d", "cpu", 0.98, 0.76}, Pair{"d2h", "cpu", 1, 0.90}};
  constexpr std::array kAlways = {Pair{"compute", "h2d", 0.99, 0}, Pair{"compute", "d2h", 0.99, 0},
                                  Pair{"compute", "cpu", 0.99, 0}, Pair{"h2d", "compute", 0.99, 0},
                                  Pair{"d2h", "compute", 0.99, 0}, Pair{"cpu", "compute", 0.96, 0}};
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
      estimated(mixed * rate, kDramDeviation,
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
  machine.disk_read =
      estimated(slot * drives * part.read.count(), 0.3, to_text(ssd) + ": " + part.source);
  machine.disk_write =
      estimated(slot * drives * part.write.count(), 0.4, to_text(ssd) + ": " + part.source);
}

/// Sets what follows from one memory for CPU and GPU. The run's two pools are parts of it, by a
/// rule that --hbm and --host replace: an eighth for the host, the rest for the device, since state
/// that the GPU updates where it lies need not be copied. All rates are of the same memory, which a
/// copy reads and writes.
void set_one_memory(MachineProfile& machine, const GpuPart& gpu, const MemoryKit& kit) {
  constexpr double kForHost = 0.125, kKept = 0.96, kReached = 0.85;
  const double bytes = kKept * static_cast<double>(kit.total().count());
  const std::string pool =
      "one memory of " + std::to_string(kit.total().count() >> 30) + " GiB for CPU and GPU";
  machine.host = estimated(kForHost * bytes, 0.02, pool + ", an eighth of it for the host");
  machine.hbm = estimated((1 - kForHost) * bytes, 0.02,
                          pool + ", less 4 % of the system and an eighth for the host");
  const double reached = kReached * gpu.bandwidth.count();
  machine.dram = estimated(reached, 0.15, "0.85 of the memory's rate, which CPU and GPU share");
  const std::string copy = "half of what the shared memory reaches: a copy reads and writes it";
  machine.h2d = machine.d2h = estimated(reached / 2, 0.25, copy);
  machine.h2d_duplex = machine.d2h_duplex = estimated(reached / 4, 0.25, copy);
  machine.h2d_dram = machine.d2h_dram = estimated(2, 0.1, "a byte copied is read and written");
  const std::string shared = "a rule: who shares the memory's rate gets about half of it";
  machine.interference.clear();
  for (const auto& [on, from] : {std::pair{"compute", "h2d"}, std::pair{"compute", "d2h"},
                                 std::pair{"compute", "cpu"}, std::pair{"cpu", "compute"}}) {
    machine.interference.push_back({on, from, estimated(0.7, 0.2, shared)});
  }
}

}  // namespace

double update_rate(const CpuPart& cpu) { return core_rate(cpu) * static_cast<double>(cpu.cores); }

MachineProfile compose(const Composition& parts) {
  check_parts(parts);
  const GpuPart& gpu = find_gpu(parts.gpu);
  const CpuPart& cpu = find_cpu(parts.cpu);
  MachineProfile machine;
  machine.name = to_text(parts);
  machine.device = DeviceKind::cuda;
  machine.architecture = gpu.architecture;
  set_memory(machine, gpu);
  set_kernels(machine, gpu);
  set_link(machine, gpu, cpu);
  set_host(machine, cpu, parts.ram);
  set_disk(machine, cpu, parts.ssd);
  if (gpu.link == HostLink::unified) set_one_memory(machine, gpu, parts.ram);
  return machine;
}

}  // namespace sluice::planner
