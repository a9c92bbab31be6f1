// Entry points of the cuda backend for the rest of the engine, free of CUDA headers and present in
// every build.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/execution/device.hpp"
#include "engine/ranks/world.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine::cuda {

/// Throws EnvironmentError in a build without CUDA, and unless there is a usable GPU of compute
/// capability 8.0 or newer.
void require_backend();

/// Creates a CudaDevice with these settings (see CudaDeviceSettings), after tuning those matrix
/// products of `job` that the user's GEMM table lacks (none for a job with a sequence_chunk).
/// Throws as its constructor and ensure_gemm_table do, and EnvironmentError in a build without
/// CUDA. `world`: the rank whose device it is, and their number; `here`: its place
/// among the ranks of this host.
[[nodiscard]] std::unique_ptr<engine::Device> make_device(
    const planner::Job& job, const ArenaSizes& arenas, const ArenaSizes& capacity, int threads,
    bool staged, std::optional<BytesPerSecond> paced, World world = {}, World here = {});

/// Keeps the pinned host memory of destroyed devices for the next ones while the returned object
/// lives, and pins `at_least` bytes for them at once (see KeptPinnedMemory). Null in a build
/// without CUDA.
[[nodiscard]] std::shared_ptr<void> keep_pinned_memory(Bytes at_least);
/// Bytes of pinned host memory that are kept for the next device and not in use now.
[[nodiscard]] Bytes kept_pinned_memory();

/// Numerics id of `job` on this computer's GPU: SHA-256 of everything that decides which bits a run
/// computes (GPU architecture, libraries with their engines and algorithms, kernel versions). Tunes
/// missing matrix products first, and throws as ensure_gemm_table does.
[[nodiscard]] std::string numerics_id(const planner::Job& job);

}  // namespace sluice::engine::cuda
