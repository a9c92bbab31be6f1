// The profile of a machine put together from parts, each number with its rule: the GPU, its link
// and what they share; the host is in composed_host.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/catalogue/composed_host.hpp"
#include "planner/catalogue/composed_machine.hpp"
#include "planner/catalogue/stated_fact.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"

namespace sluice::planner {
namespace {

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
  machine.hbm_bandwidth = datasheet(gpu.bandwidth, 0.1, gpu.source);
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
  machine.peak_bf16 = gpu.peak_deviation > 0 ? estimated(gpu.peak, gpu.peak_deviation, gpu.source)
                                             : datasheet(gpu.peak, 0, gpu.source);
  machine.gemm = like.gemm;
  machine.attention_forward = like.attention_forward;
  machine.attention_backward = like.attention_backward;
  machine.attention = like.attention;
  machine.launch = like.launch;
  machine.kernel_overhead = like.kernel_overhead;
  FlopsPerSecond saturated = like.gemm.back().rate.value;
  if (gpu.saturated) {
    const double factor = *gpu.saturated / saturated;
    const std::string rule = gpu.like + "'s measured rate scaled: " + gpu.rule;
    for (ProductPoint& point : machine.gemm) {
      point.rate = scaled(point.rate, factor, gpu.saturated_deviation, rule);
      point.rate.value =
          std::min(point.rate.value, std::max(kMostOfPeak * gpu.peak, *gpu.saturated));
    }
    std::vector<FlopRate*> attention{&machine.attention_forward, &machine.attention_backward};
    for (AttentionPoint& point : machine.attention) {
      attention.insert(attention.end(), {&point.forward, &point.backward});
    }
    for (FlopRate* rate : attention) {
      *rate = scaled(*rate, factor, std::max(0.25, gpu.saturated_deviation), rule);
    }
    saturated = *gpu.saturated;
  }
  // Ceilings: the shares of the peak that an H200 reached, no less than the rates above.
  const std::string share =
      "the share of the dense peak that an H200 reached, at least 1.05 of "
      "the rate large products are taken to have";
  machine.gemm_ceiling =
      estimated(std::min(gpu.peak, std::max(0.824 * gpu.peak, 1.05 * saturated)), 0.1, share);
  machine.attention_forward_ceiling =
      estimated(std::max(0.617 * gpu.peak, machine.attention_forward.value), 0.1, share);
  machine.attention_backward_ceiling =
      estimated(std::max(0.551 * gpu.peak, machine.attention_backward.value), 0.1, share);
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
  machine.h2d = estimated(BytesPerSecond(rates.h2d), 0.05, rates.source);
  machine.d2h = estimated(BytesPerSecond(rates.d2h), 0.05, rates.source);
  machine.h2d_duplex = estimated(BytesPerSecond(rates.h2d_duplex), 0.15, rates.source);
  machine.d2h_duplex = estimated(BytesPerSecond(rates.d2h_duplex), 0.15, rates.source);
  machine.copy_latency = estimated(Seconds(3e-6), 0.5, "as measured on one H200 host");
  machine.staged_copy =
      estimated(BytesPerSecond(16e9), 0.375, "three threads copying into a pinned ring");
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
  const BytesPerSecond reached = kReached * gpu.bandwidth;
  machine.dram = estimated(reached, 0.15, "0.85 of the memory's rate, which CPU and GPU share");
  const std::string copy = "half of what the shared memory reaches: a copy reads and writes it";
  machine.h2d = machine.d2h = estimated(reached / 2, 0.25, copy);
  machine.h2d_duplex = machine.d2h_duplex = estimated(reached / 4, 0.25, copy);
  machine.h2d_dram = machine.d2h_dram = estimated(2, 0.1, "a byte copied is read and written");
  const std::string shared = "a rule: who shares the memory's rate gets about half of it";
  machine.interference.clear();
  for (const auto& [on, from] :
       {std::pair{LaneKind::compute, LaneKind::h2d}, std::pair{LaneKind::compute, LaneKind::d2h},
        std::pair{LaneKind::compute, LaneKind::cpu}, std::pair{LaneKind::cpu, LaneKind::compute}}) {
    machine.interference.push_back({on, from, estimated(0.7, 0.2, shared)});
  }
}

}  // namespace

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
