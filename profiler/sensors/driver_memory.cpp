#include "profiler/sensors/driver_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "profiler/sensors/gpu_sensors.hpp"
#include "profiler/sensors/shared_library.hpp"

namespace sluice::profiler {
namespace {

/// Layout of nvmlMemory_t in NVML's public reference: version 1, `used` includes what the driver
/// reserves.
struct NvmlMemory {
  unsigned long long total, free, used;
};

std::optional<Bytes> larger(std::optional<Bytes> a, std::optional<Bytes> b) {
  return a && b ? std::max(a, b) : (a ? a : b);
}

}  // namespace

std::optional<Bytes> device_memory_in_use() {
  const std::optional<std::string> bus_id = first_bus_id();
  const Library nvml = open_library("libnvidia-ml.so.1");
  if (!bus_id || !nvml) return std::nullopt;
  const auto init = symbol<int()>(nvml, "nvmlInit_v2");
  const auto shutdown = symbol<int()>(nvml, "nvmlShutdown");
  const auto device = symbol<int(const char*, void**)>(nvml, "nvmlDeviceGetHandleByPciBusId_v2");
  const auto memory = symbol<int(void*, NvmlMemory*)>(nvml, "nvmlDeviceGetMemoryInfo");
  if (!init || !shutdown || !device || !memory || init() != 0) return std::nullopt;
  void* handle = nullptr;
  NvmlMemory info{};
  const bool known = device(bus_id->c_str(), &handle) == 0 && memory(handle, &info) == 0;
  shutdown();
  if (!known) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(info.used));
}

std::optional<Bytes> context_memory_in_use() {
  const Library cuda = open_library("libcuda.so.1");
  if (!cuda) return std::nullopt;
  const auto memory = symbol<int(std::size_t*, std::size_t*)>(cuda, "cuMemGetInfo_v2");
  std::size_t free = 0;
  std::size_t total = 0;
  if (!memory || memory(&free, &total) != 0) return std::nullopt;
  return Bytes(static_cast<std::int64_t>(total - free));
}

void OwnDeviceMemory::ask() {
  const std::optional<Bytes> now = device_memory_in_use();
  if (now && before_) most_ = larger(most_, *now - *before_);
  most_of_all_ = larger(most_of_all_, context_memory_in_use());
}

}  // namespace sluice::profiler
