// The doctor's judgements, each from plain facts so that tests can state machines they do not have.
#pragma once

#include <filesystem>
#include <optional>

#include "profiler/doctor/finding.hpp"
#include "profiler/doctor/nvidia.hpp"
#include "profiler/doctor/system_files.hpp"

namespace sluice::profiler {

/// CPU, memory, cgroup limits, channels, NUMA, WSL. `cpus`: logical CPUs this process may use.
[[nodiscard]] Findings examine_host(const SystemFiles& files, int cpus);

/// Locked-memory limit: it matters where a GPU is fed from pinned memory.
enum class GpuPresence { absent, present };
[[nodiscard]] Finding examine_locked_memory(std::optional<Bytes> soft_limit, GpuPresence gpu);

/// Free space and write access of the folder (or of its nearest existing parent).
[[nodiscard]] Finding examine_disk(const std::string& subject, const std::filesystem::path& folder,
                                   const std::string& fix);

/// OpenBLAS in this process: its core name and version.
[[nodiscard]] Finding examine_openblas();

/// Driver, GPUs and CUDA libraries; one note where there is no GPU.
enum class CudaBackend { absent, built };
[[nodiscard]] Findings examine_gpus(const std::optional<NvidiaDriver>& driver, CudaBackend backend);

}  // namespace sluice::profiler
