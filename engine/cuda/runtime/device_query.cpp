#include "engine/cuda/runtime/device_query.hpp"

#include <cuda_runtime_api.h>

namespace sluice::engine::cuda {
namespace {

/// Decodes CUDA's version numbers, which are 1000 * major + 10 * minor.
Version version_of(int number) { return {number / 1000, number % 1000 / 10}; }

std::optional<Device> describe(int ordinal) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) return std::nullopt;
  char bus_id[32] = "";
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, ordinal) != cudaSuccess) bus_id[0] = '\0';
  return Device{.name = properties.name,
                .compute_capability = {properties.major, properties.minor},
                .memory = Bytes(static_cast<std::int64_t>(properties.totalGlobalMem)),
                .multiprocessors = properties.multiProcessorCount,
                .pci_bus_id = bus_id};
}

}  // namespace

DeviceQuery query_devices() {
  DeviceQuery query;
  int number = 0;
  if (cudaRuntimeGetVersion(&number) == cudaSuccess) query.runtime = version_of(number);
  if (cudaDriverGetVersion(&number) == cudaSuccess && number > 0) query.driver = version_of(number);
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    query.reason = cudaGetErrorString(status);
    return query;
  }
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (std::optional<Device> device = describe(ordinal)) {
      query.devices.push_back(*std::move(device));
    }
  }
  if (query.devices.empty()) query.reason = "no CUDA device answers";
  return query;
}

}  // namespace sluice::engine::cuda
