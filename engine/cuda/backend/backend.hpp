// The cuda backend as the rest of the engine asks for it: there or not, without a CUDA header.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/execution/device.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine::cuda {

/// Throws EnvironmentError in a build without CUDA, and unless a GPU of compute capability 8.0 or
/// newer answers.
void require_backend();

/// A CudaDevice; throws as its constructor, and EnvironmentError in a build without CUDA.
[[nodiscard]] std::unique_ptr<engine::Device> make_device(const planner::Job& job,
                                                          const ArenaSizes& arenas,
                                                          const ArenaSizes& capacity, int threads,
                                                          bool staged,
                                                          std::optional<BytesPerSecond> paced);

/// While what it returns lives, pinned memory of devices that are gone waits for the next, and
/// `at_least` from the first on (KeptPinnedMemory). Null in a build without CUDA.
[[nodiscard]] std::shared_ptr<void> keep_pinned_memory(Bytes at_least);
/// Of it, what waits now.
[[nodiscard]] Bytes kept_pinned_memory();

/// SHA-256 of backend, architecture, libraries with their engines, and kernel versions.
[[nodiscard]] std::string numerics_id(const planner::Job& job);

}  // namespace sluice::engine::cuda
