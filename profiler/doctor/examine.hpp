// The doctor's judgements, each from plain facts, so that tests can state machines that they do not
// have.
#pragma once

#include <filesystem>
#include <optional>

#include "profiler/doctor/finding.hpp"
#include "profiler/doctor/nvidia.hpp"
#include "profiler/doctor/system_files.hpp"

namespace sluice::profiler {

/// Findings on CPU, memory, cgroup limits, memory channels, NUMA and WSL. `cpus` is the number of
/// logical CPUs that this process may use; the rest is read from `files`.
[[nodiscard]] Findings examine_host(const SystemFiles& files, int cpus);

/// Whether the machine has a GPU; the limit on locked memory matters where one is fed from pinned
/// memory.
enum class GpuPresence { absent, present };
[[nodiscard]] Finding examine_locked_memory(std::optional<Bytes> soft_limit, GpuPresence gpu);

/// Finding on free space and write access of `folder` (or of its nearest existing parent).
/// `subject` is what the finding calls it, `fix` the command that mends it.
[[nodiscard]] Finding examine_disk(const std::string& subject, const std::filesystem::path& folder,
                                   const std::string& fix);

/// Finding on the OpenBLAS library in this process: the core that it chose, and its version.
[[nodiscard]] Finding examine_openblas();

/// Whether this program was built with the CUDA backend.
enum class CudaBackend { absent, built };
[[nodiscard]] Findings examine_gpus(const std::optional<NvidiaDriver>& driver, CudaBackend backend);

/// Findings on what several GPUs share and reach: equal models, peer access, NVLink, NUMA nodes,
/// IOMMU and access control. Empty for fewer than two GPUs.
[[nodiscard]] Findings examine_gpu_links(const NvidiaDriver& driver, const SystemFiles& files);

}  // namespace sluice::profiler
