// Entry points of the cuda backend for the rest of the engine, free of CUDA headers and present in
// every build.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "engine/execution/device.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine::cuda {

/// Throws EnvironmentError in a build without CUDA, and unless there is a usable GPU of compute
/// capability 8.0 or newer.
void require_backend();

/// Creates a CudaDevice with these CudaDeviceSettings, after tuning those matrix products of `job`
/// that the user's GEMM table lacks (none for a job with a sequence_chunk). Throws as its
/// constructor and ensure_gemm_table do, and EnvironmentError in a build without CUDA.
[[nodiscard]] std::unique_ptr<engine::Device> make_device(const planner::Job& job,
                                                          const ArenaSizes& arenas,
                                                          const ArenaSizes& capacity, int threads,
                                                          bool staged,
                                                          std::optional<BytesPerSecond> paced);

/// Keeps the pinned memory of destroyed devices for the next ones while the returned object lives,
/// and `at_least` bytes from the start (see KeptPinnedMemory). Null in a build without CUDA.
[[nodiscard]] std::shared_ptr<void> keep_pinned_memory(Bytes at_least);
/// Bytes of pinned memory that are kept and not in use now.
[[nodiscard]] Bytes kept_pinned_memory();

/// SHA-256 of everything that decides which bits a run of `job` computes: backend, GPU
/// architecture, libraries with their engines, and kernel versions.
[[nodiscard]] std::string numerics_id(const planner::Job& job);

}  // namespace sluice::engine::cuda
