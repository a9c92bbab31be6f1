// Whether a kernel's result replaces what lies at its destination or is added to it.
#pragma once

#include <cstdint>

namespace sluice::engine::cuda {

/// Whether a kernel's result replaces the values at its destination (overwrite) or is added to them
/// (accumulate); an fp32 gradient accumulates the sum over micro-batches.
enum class Into : std::uint8_t { overwrite, accumulate };

}  // namespace sluice::engine::cuda
