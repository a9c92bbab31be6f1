#include "engine/cuda/runtime/usable.hpp"

#include "sim/units_text.hpp"

namespace sluice::engine::cuda {
namespace {

constexpr Version kOldest{8, 0};
constexpr std::int64_t kMib = 1 << 20;

std::string whole_mib(Bytes bytes) {
  return planner::format_exact(Bytes(bytes.count() / kMib * kMib));
}

}  // namespace

std::optional<std::string> why_unusable(const DeviceQuery& query) {
  if (!query.driver) {
    return "backend cuda: no CUDA driver answers (" + query.reason.value_or("no reason given") +
           "): install the NVIDIA driver, or use --backend host";
  }
  if (query.runtime && query.driver->major < query.runtime->major) {
    return "the NVIDIA driver supports CUDA " + to_string(*query.driver) +
           " and this build needs CUDA " + std::to_string(query.runtime->major) +
           ": update the driver, or build with an older CUDA toolkit";
  }
  if (query.devices.empty()) {
    return "no CUDA device answers (" + query.reason.value_or("no reason given") +
           "): check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --backend host";
  }
  const Device& device = query.devices.front();
  if (device.compute_capability < kOldest) {
    return device.name + " has compute capability " + to_string(device.compute_capability) +
           "; the cuda backend needs " + to_string(kOldest) +
           " or newer: choose another GPU by CUDA_VISIBLE_DEVICES, or use --backend host";
  }
  return std::nullopt;
}

std::optional<std::string> why_no_memory(Bytes needed, Bytes free, Bytes total) {
  if (needed <= free) return std::nullopt;
  return "the plan needs " + whole_mib(needed + Bytes(kMib - 1)) + " of device memory; " +
         whole_mib(free) + " of " + whole_mib(total) + " are free and " + whole_mib(total - free) +
         " in use: end what else uses the GPU (nvidia-smi names it), or set --hbm to what is free";
}

}  // namespace sluice::engine::cuda
