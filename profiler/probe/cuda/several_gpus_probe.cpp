// The part of the probe for several GPUs: their links all at once, and collectives between them.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include "engine/cuda/fabric/gpu_fabric.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "planner/machines/profile_file.hpp"
#include "profiler/probe/cuda/fabric_bench.hpp"
#include "profiler/probe/cuda/link_bench.hpp"
#include "profiler/probe/memory_bench.hpp"
#include "profiler/probe/probe_cuda.hpp"
#include "sim/error.hpp"
#include "sim/units_text.hpp"

namespace sluice::profiler {
namespace {

/// Loads of all GPUs of the probe, and the optimizer's.
class HostLoads {
 public:
  HostLoads(int gpus, std::int64_t threads) : threads_(threads) {
    constexpr std::int64_t kParameters = std::int64_t{128} << 20;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      engine::check_cuda(cudaSetDevice(gpu), "a GPU of the probe");
      links_.push_back(std::make_unique<LinkBench>(256_MiB));
    }
    engine::check_cuda(cudaSetDevice(0), "a GPU of the probe");
    update_ = std::make_unique<UpdateBench>(kParameters, static_cast<int>(threads));
  }

  /// Rates of the first `gpus` GPUs' links in these directions within `window`, beside updates
  /// where `updates` says so.
  HostLoad measure(std::int64_t gpus, bool down, bool up, bool updates, Seconds window) {
    std::vector<std::unique_ptr<SteadyLoad>> downs, ups;
    for (std::int64_t gpu = 0; gpu < gpus; ++gpu) {
      engine::check_cuda(cudaSetDevice(static_cast<int>(gpu)), "a GPU of the probe");
      LinkBench& link = *links_[static_cast<std::size_t>(gpu)];
      if (down) downs.push_back(link.steady(CopyDirection::h2d));
      if (up) ups.push_back(link.steady(CopyDirection::d2h));
    }
    constexpr std::chrono::milliseconds kWarmUp{100};
    std::this_thread::sleep_for(kWarmUp);
    const auto threads = static_cast<int>(threads_);
    if (updates) update_->update(threads);
    const Seconds from = read(Timer::wall);
    std::int64_t count = 0;
    for (; updates && (count < 2 || read(Timer::wall) - from < window); ++count) {
      update_->update(threads);
    }
    if (!updates) std::this_thread::sleep_for(window);
    const Seconds to = read(Timer::wall);
    HostLoad load{.gpus = gpus, .threads = updates ? threads_ : 0};
    const auto sum = [&](std::vector<std::unique_ptr<SteadyLoad>>& loads) {
      double rate = 0;
      for (auto& each : loads) {
        each->stop();
        rate += each->repetitions_per_second(from, to);
      }
      return rate * static_cast<double>(LinkBench::kPiece.count());
    };
    load.h2d = sum(downs);
    load.d2h = sum(ups);
    if (updates) {
      load.updates = static_cast<double>(count * update_->parameters()) / (to - from).count();
    }
    return load;
  }

 private:
  std::int64_t threads_;
  std::vector<std::unique_ptr<LinkBench>> links_;
  std::unique_ptr<UpdateBench> update_;
};

/// Whether the first `gpus` GPUs reach each other's memory.
bool reach_each_other(int gpus) {
  for (int gpu = 0; gpu < gpus; ++gpu) {
    for (int peer = 0; peer < gpus; ++peer) {
      int reaches = 0;
      if (peer == gpu) continue;
      if (cudaDeviceCanAccessPeer(&reaches, gpu, peer) != cudaSuccess) (void)cudaGetLastError();
      if (reaches == 0) return false;
    }
  }
  return true;
}

/// Medians of several measurements of one load, in turn with the others.
HostLoad median_of(const std::vector<HostLoad>& loads) {
  HostLoad result = loads.front();
  for (double HostLoad::*rate : {&HostLoad::h2d, &HostLoad::d2h, &HostLoad::updates}) {
    Samples samples;
    for (const HostLoad& load : loads) samples.push_back(load.*rate);
    result.*rate = median(samples);
  }
  return result;
}

void measure_links(CudaProbe& probe, int gpus, ProbeDepth depth, const ProbeProgress& progress) {
  const Seconds window(depth == ProbeDepth::quick ? 0.2 : 0.5);
  const int repetitions = depth == ProbeDepth::quick ? 3 : 5;
  // A quarter of the cores is left to copies, launches and the system.
  const auto threads = std::max<std::int64_t>(1, std::llround(0.75 * probe.profile.cores.value));
  HostLoads loads(gpus, threads);
  std::vector<std::int64_t> counts{1};
  while (counts.back() < gpus) counts.push_back(std::min<std::int64_t>(2 * counts.back(), gpus));
  const auto measure = [&](std::int64_t count, bool down, bool up, bool updates) {
    std::vector<HostLoad> all;
    for (int i = 0; i < repetitions; ++i) {
      all.push_back(loads.measure(count, down, up, updates, window));
    }
    HostLoad load = median_of(all);
    if (progress) progress("links together", to_text(load));
    return load;
  };
  for (const std::int64_t count : counts) {
    (void)measure(count, true, false, false);
    (void)measure(count, false, true, false);
    (void)measure(count, true, true, false);
    const HostLoad beside = measure(count, true, true, true);
    if (count == gpus) set_shared_memory(probe.profile, beside);
  }
}

}  // namespace

void require_several_gpus(std::int64_t gpus) {
  if (const auto why = engine::why_no_gpu_fabric(static_cast<int>(gpus))) {
    throw EnvironmentError(*why);
  }
}

void probe_several_gpus(CudaProbe& probe, std::int64_t gpus, ProbeDepth depth,
                        const ProbeProgress& progress) {
  require_several_gpus(gpus);
  measure_links(probe, static_cast<int>(gpus), depth, progress);
  const Seconds budget(depth == ProbeDepth::quick ? 0.1 : 0.4);
  planner::Fabric fabric = measured_fabric(time_collectives(static_cast<int>(gpus), budget));
  complete(fabric, probe.profile.h2d.value, reach_each_other(static_cast<int>(gpus)));
  if (progress) {
    const auto fastest = [](const std::vector<planner::CurvePoint>& curve) {
      return planner::format_rate(curve.back().rate.value);
    };
    progress("collectives", planner::format_seconds(fabric.latency.value) +
                                " at least; a GPU receives " + fastest(fabric.gather) +
                                " gathered, " + fastest(fabric.exchange) + " exchanged");
  }
  probe.profile.devices = gpus;
  probe.profile.fabric = std::move(fabric);
}

}  // namespace sluice::profiler
