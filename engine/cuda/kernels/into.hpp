// Whether a kernel's result replaces what lies at its destination or is added to it.
#pragma once

#include <cstdint>

namespace sluice::engine::cuda {

/// `accumulate` adds to the destination: for an fp32 gradient that is the running sum of the
/// micro-batches before this one.
enum class Into : std::uint8_t { overwrite, accumulate };

}  // namespace sluice::engine::cuda
