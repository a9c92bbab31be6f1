// Reasons why a machine's GPU cannot be used, each in one line with advice. These are pure
// functions of the CUDA runtime's answers, so that they can be tested without a GPU.
#pragma once

#include <optional>
#include <string>

#include "engine/cuda/runtime/device_query.hpp"
#include "sim/units.hpp"

namespace sluice::engine::cuda {

/// Why the first device of `query` cannot run the cuda backend, in one line with advice; none if it
/// can. The backend needs a driver that supports the build's CUDA version (minor versions are
/// compatible) and a device of compute capability 8.0 or newer (bf16 matrix products).
[[nodiscard]] std::optional<std::string> why_unusable(const DeviceQuery& query);

/// Why a plan that needs `needed` bytes cannot run on a GPU with `free` bytes free of `total`, in
/// one line with how much others hold; none if the bytes suffice.
[[nodiscard]] std::optional<std::string> why_no_memory(Bytes needed, Bytes free, Bytes total);

}  // namespace sluice::engine::cuda
