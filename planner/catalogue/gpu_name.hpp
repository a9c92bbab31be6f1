// Names that drivers give to GPUs.
#pragma once

#include <string_view>

#include "planner/catalogue/parts.hpp"

namespace sluice::planner {

/// Whether the GPU with the driver's name `gpu` ("NVIDIA GeForce RTX 4090") is the catalogue's
/// `machine` ("rtx-4090"): every word of the machine's name must be in the GPU's, or be implied by
/// it.
[[nodiscard]] bool names_gpu(std::string_view machine, std::string_view gpu);

/// The GPU part that the driver calls `gpu`: of those that names_gpu() accepts, the one with the
/// longest name. Null for a GPU that the catalogue does not know.
[[nodiscard]] const GpuPart* gpu_named(std::string_view gpu);

}  // namespace sluice::planner
