// Why a machine's GPU cannot be used, in one line that says what to do. Pure functions of what the
// CUDA runtime answered, so that they are tested without a GPU.
#pragma once

#include <optional>
#include <string>

#include "engine/cuda/runtime/device_query.hpp"
#include "sim/units.hpp"

namespace sluice::engine::cuda {

/// None where the first device can run the cuda backend: a driver that supports the build's CUDA
/// version (equal major version: minor ones are compatible), a device of compute capability 8.0
/// (bf16 matrix products) or newer.
[[nodiscard]] std::optional<std::string> why_unusable(const DeviceQuery& query);

/// None where `needed` bytes are free on a device of `total` bytes. What others hold is named.
[[nodiscard]] std::optional<std::string> why_no_memory(Bytes needed, Bytes free, Bytes total);

}  // namespace sluice::engine::cuda
