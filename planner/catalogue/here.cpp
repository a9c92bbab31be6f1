// Estimated profile of this computer, before anyone measured it.
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/stated_fact.hpp"
#include "planner/machines/cgroups.hpp"
#include "planner/machines/host_memory.hpp"

namespace sluice::planner {
namespace {

/// A number of bytes that changes from minute to minute, rounded down by a 32nd at most, so that
/// what was found for this computer before is found again.
double steady(double bytes) {
  if (bytes <= 0) return 0;
  constexpr double kSteps = 32;
  const double step = std::exp2(std::floor(std::log2(bytes))) / kSteps;
  return std::floor(bytes / step) * step;
}

double free_disk() {
  std::error_code error;
  const auto space = std::filesystem::space(std::filesystem::current_path(error), error);
  return error ? 0 : static_cast<double>(space.available);
}

std::string architecture() {
  utsname name{};
  std::string machine = uname(&name) == 0 ? name.machine : "unknown";
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return machine + "-avx512";
  if (__builtin_cpu_supports("avx2")) return machine + "-avx2";
#endif
  return machine;
}

void estimate_kernels(MachineProfile& here, std::int64_t cores) {
  const std::string rule = "a core of a present-day server or laptop";
  /// Relative deviation of a core's rates, since cores of different machines differ by a factor of
  /// a few.
  constexpr double kWide = 0.6;
  const auto flop_rate = [](double value, const std::string& note) {
    return estimated(FlopsPerSecond(value), kWide, note);
  };
  here.peak_bf16 = flop_rate(100e9, rule + ", fp32 products");
  for (const auto& [size, rate] :
       {std::pair{1e5, 5e9}, {1e6, 20e9}, {1e7, 50e9}, {1e8, 70e9}, {1e10, 80e9}}) {
    here.gemm.push_back({Flops(size), flop_rate(rate, rule)});
  }
  here.attention_forward = flop_rate(20e9, rule);
  here.attention_backward = flop_rate(20e9, rule);
  for (FlopRate* ceiling :
       {&here.gemm_ceiling, &here.attention_forward_ceiling, &here.attention_backward_ceiling}) {
    *ceiling = flop_rate(here.peak_bf16.value.count(), rule + ", fp32 products");
  }
  here.hbm_bandwidth = estimated(BytesPerSecond(6e9), kWide, rule);
  here.launch = estimated(Seconds(5e-6), kWide, "waking a thread");
  here.kernel_overhead = estimated(Seconds(2e-6), kWide, "calling a kernel");
  constexpr double kPerThread = 0.25e9;
  for (std::int64_t threads = 1; threads <= cores; threads *= 2) {
    const double rate = std::min(kPerThread * static_cast<double>(threads),
                                 here.dram.value.count() / here.update_dram.value);
    here.update.emplace(threads, estimated(rate, kWide, rule + ", up to host memory bandwidth"));
  }
  here.device_update = estimated(kPerThread, kWide, rule);
}

}  // namespace

MachineProfile here_estimate() {
  MachineProfile here;
  here.name = "here";
  here.device = DeviceKind::host;
  here.architecture = architecture();
  const std::int64_t cores = usable_cores();
  const std::string os = "as the operating system states it";
  here.hbm = estimated(static_cast<double>(kHostBackendHbm.count()), 0, "the host backend's arena");
  here.context = estimated(0, 0, "the host backend has none");
  const auto available = static_cast<double>(host_memory().available.count());
  here.host = estimated(steady(available), 0.1, os);
  here.disk = estimated(steady(free_disk()), 0.1, os);
  here.cores = estimated(static_cast<double>(cores), 0, os);
  const std::string paced = "copies of the host backend are paced to it";
  for (Bandwidth* link : {&here.h2d, &here.d2h, &here.h2d_duplex, &here.d2h_duplex}) {
    *link = estimated(kHostBackendLink, 0.02, paced);
  }
  here.staged_copy = estimated(kHostBackendLink, 0.02, "the host backend pins nothing");
  here.copy_latency =
      estimated(Seconds(50e-6), 0.6, "waking a thread and the first piece of a paced copy");
  here.dram = estimated(BytesPerSecond(10e9 * std::sqrt(static_cast<double>(cores))), 0.6,
                        "10 GB/s times the root of the cores");
  here.disk_read = estimated(BytesPerSecond(1e9), 0.6, "a solid-state drive");
  here.disk_write = estimated(BytesPerSecond(0.5e9), 0.6, "a solid-state drive");
  here.h2d_dram = estimated(2, 0.3, "a copy reads and writes");
  here.d2h_dram = estimated(2, 0.3, "a copy reads and writes");
  here.update_dram = estimated(28, 0.2, "12 bytes of state both ways and 4 of gradient");
  for (Fact* weight : {&here.h2d_weight, &here.d2h_weight}) {
    *weight = estimated(0, 0, "not fitted: the cost model has its own");
  }
  here.copy_cores = estimated(1 / 8e9, 0.6, "one core copies 8 GB/s");
  estimate_kernels(here, cores);
  return here;
}

}  // namespace sluice::planner
