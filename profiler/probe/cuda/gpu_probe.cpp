#include "profiler/probe/cuda/gpu_probe.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "engine/backends/backend.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/device_query.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/gpu_name.hpp"
#include "planner/machines/profile_file.hpp"
#include "profiler/doctor/system_files.hpp"
#include "profiler/sensors/driver_memory.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

using planner::Fact;
using planner::MachineProfile;
using planner::Source;

ProbeBudget budget_of(ProbeDepth depth) {
  if (depth == ProbeDepth::quick) {
    return {.copy_size = Seconds(0.03),
            .product = Seconds(0.03),
            .settle = Seconds(1.5),
            .kernel = Seconds(0.1),
            .blocks = {.rounds = 2,
                       .settle = Seconds(1.5),
                       .warm = Seconds(0.08),
                       .visit = Seconds(0.15)},
            .window = Seconds(0.1),
            .grid = {.least = 2, .most = 6, .more = Seconds(8)},
            .products = {.least = 4, .most = 4},
            .parameters = std::int64_t{64} << 20,
            .dram = 512_MiB,
            .disk = {.drive = {}, .file = 1_GiB, .budget = Seconds(1)}};
  }
  return {
      .copy_size = Seconds(0.15),
      .product = Seconds(0.1),
      .settle = Seconds(5),
      .kernel = Seconds(0.4),
      .blocks = {.rounds = 4, .settle = Seconds(4), .warm = Seconds(0.15), .visit = Seconds(0.3)},
      .window = Seconds(0.35),
      .grid = {.least = 5, .most = 24, .more = Seconds(90)},
      .products = {.least = 5, .most = 5},
      .parameters = std::int64_t{128} << 20,
      .dram = 1_GiB,
      .disk = {.drive = {}, .file = 4_GiB, .budget = Seconds(4)}};
}

Fact measured(double value, std::string note) {
  return {.value = value,
          .deviation = 0,
          .count = 1,
          .source = Source::measured,
          .note = std::move(note)};
}

}  // namespace

GpuProbe::GpuProbe(ProbeDepth depth, const ProbeProgress& progress, const ProbedDisk& disk)
    : depth_(depth), budget_(budget_of(depth)), progress_(progress) {
  budget_.disk.drive = disk;
  engine::require_backend(planner::DeviceKind::cuda);
  name_machine();
  capacities();
}

void GpuProbe::name_machine() {
  const auto query = engine::cuda::query_devices();
  const engine::cuda::Device& device = query.devices.front();
  gpu_ = device.name;
  bus_id_ = device.pci_bus_id;
  MachineProfile& profile = result_.profile;
  // The host side is taken from the operating system; everything of the device is measured.
  const MachineProfile here = planner::here_estimate();
  profile.name = gpu_ + ", " + SystemFiles().cpu_model().value_or("unknown CPU");
  profile.device = planner::DeviceKind::cuda;
  profile.architecture = "sm_" + std::to_string(device.compute_capability.major) +
                         std::to_string(device.compute_capability.minor);
  profile.host = here.host;
  profile.disk = here.disk;
  profile.disk_read = here.disk_read;
  profile.disk_write = here.disk_write;
  profile.cores = here.cores;
  profile.update_dram = here.update_dram;
  profile.h2d_weight = here.h2d_weight;
  profile.d2h_weight = here.d2h_weight;
  profile.copy_cores = {.value = 0,
                        .deviation = 0,
                        .count = 0,
                        .source = Source::estimated,
                        .note = "copy engines use no core"};
  cores_ = std::max<std::int64_t>(1, std::llround(profile.cores.value));
  threads_ = contention_threads(cores_);
}

/// Device memory of code that later plans load, in a process that runs many of them (history:
/// 2026-11-22-prediction-study-probed).
constexpr Bytes kLaterCode = 256_MiB;

void GpuProbe::capacities() {
  const std::optional<Bytes> before = device_memory_in_use();
  engine::check_cuda(cudaFree(nullptr), "a context on the device");
  const std::optional<Bytes> after = device_memory_in_use();
  first_room_ = device_room();
  const Bytes used = first_room_.total - first_room_.free;
  // If the driver does not report use by process, all memory in use counts as this context's.
  const Bytes own = before && after ? std::clamp(*after - *before, Bytes(0), used) : used;
  result_.profile.hbm = measured(
      static_cast<double>((first_room_.free + own - kLaterCode).count()),
      "free before this process, of " + planner::format_bytes(first_room_.total) + ", less " +
          planner::format_bytes(kLaterCode) + " for code that a process' later plans load");
  if (used - own > 1_GiB) {
    result_.warnings.push_back(
        {"gpu memory", Verdict::warn,
         planner::format_bytes(used - own) + " are in use by others: they miss in this profile",
         "nvidia-smi (then end what else uses the GPU, and probe again)"});
  }
  rlimit locked{};
  const bool limited = getrlimit(RLIMIT_MEMLOCK, &locked) == 0 && locked.rlim_cur != RLIM_INFINITY;
  say("capacities",
      fmt::format("{} on the device, {} on the host, {} of disk, {} cores; locked memory {}",
                  planner::format_fact(result_.profile.hbm, planner::FactUnit::bytes),
                  planner::format_fact(result_.profile.host, planner::FactUnit::bytes),
                  planner::format_fact(result_.profile.disk, planner::FactUnit::bytes), cores_,
                  limited ? "limited to " + planner::format_bytes(
                                                Bytes(static_cast<std::int64_t>(locked.rlim_cur)))
                          : std::string("not limited")));
}

void GpuProbe::disk() {
  DiskRates rates;
  if (const auto work = budget_.disk.long_work()) say("disk", *work);
  try {
    rates = measure_disk(budget_.disk);
  } catch (const EnvironmentError& error) {
    // A missing folder must not lose minutes of measurements: the estimates stay.
    result_.warnings.push_back(
        {"disk", Verdict::warn, error.what(), "sluice probe --disk-path FOLDER_ON_THAT_DISK"});
    return;
  }
  rates.enter(result_.profile);
  say("disk", rates.text());
  if (rates.caveat) {
    result_.warnings.push_back(
        {"disk", Verdict::warn, *rates.caveat, "sluice probe --disk-path FOLDER_ON_THAT_DISK"});
  }
}

/// Sets the peak to the catalogue's for this GPU, by the machine most words of whose name match.
void GpuProbe::peak() {
  planner::FlopRate& peak = result_.profile.peak_bf16;
  peak = {.value = FlopsPerSecond(best_product_ / 0.8),
          .deviation = FlopsPerSecond(0.15 * best_product_),
          .count = 0,
          .source = Source::estimated,
          .note = "the fastest product over 0.8; the catalogue does not know this GPU"};
  std::size_t longest = 0;
  for (const auto& machine : planner::catalogue_machines()) {
    if (machine.name.size() <= longest || !planner::names_gpu(machine.name, gpu_)) continue;
    longest = machine.name.size();
    peak = planner::find_machine(machine.name).peak_bf16;
  }
}

void GpuProbe::part(const char* name, void (GpuProbe::*measure)()) {
  const Seconds from = read(Timer::wall);
  (this->*measure)();
  const double seconds = (read(Timer::wall) - from).count();
  if (seconds < 0.05) return;
  times_ += fmt::format("{}{} {:.1f}", times_.empty() ? "" : ", ", name, seconds);
}

CudaProbe GpuProbe::run() {
  part("host memory found", &GpuProbe::host_memory);
  part("copies", &GpuProbe::copies);
  part("host memory", &GpuProbe::memory);
  part("products", &GpuProbe::products);
  part("products in FP8", &GpuProbe::fp8_products);
  part("layers", &GpuProbe::layers);
  part("blocks", &GpuProbe::blocks);
  part("load mixes", &GpuProbe::load_mixes);
  part("copies beside loads", &GpuProbe::copies_beside_loads);
  part("fit", &GpuProbe::fit);
  part("optimizer", &GpuProbe::optimizer_alone);
  part("copies not pinned", &GpuProbe::staged);
  // Libraries and their kernels are loaded now; what the probe itself holds goes first.
  link_.reset();
  update_.reset();
  memory_.reset();
  product_bench_.reset();
  engine::check_cuda(cudaDeviceSynchronize(), "the device");
  // Kernels of a dozen jobs at once, which the blocks loaded, are no one run's.
  const double left = static_cast<double>((device_room().free + blocks_code_).count());
  const double before = result_.profile.hbm.value + static_cast<double>(kLaterCode.count());
  result_.profile.context =
      measured(std::max(0.0, before - left), "context, libraries and their loaded kernels");
  // Differs by shapes of layers.
  result_.profile.context.deviation = 0.1 * result_.profile.context.value;
  say("context", planner::format_fact(result_.profile.context, planner::FactUnit::bytes) +
                     " of device memory");
  peak();
  part("disk", &GpuProbe::disk);
  say("seconds", times_);
  return std::move(result_);
}

CudaProbe probe_cuda(ProbeDepth depth, const ProbeProgress& progress, const ProbedDisk& disk) {
  return GpuProbe(depth, progress, disk).run();
}

}  // namespace sluice::profiler
