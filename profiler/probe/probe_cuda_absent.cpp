// The probe of a GPU in a build without CUDA.
#include "engine/backends/backend.hpp"
#include "profiler/probe/probe_cuda.hpp"
#include "sim/error.hpp"

namespace sluice::profiler {

CudaProbe probe_cuda(ProbeDepth /*depth*/, const ProbeProgress& /*progress*/,
                     const ProbedDisk& /*disk*/) {
  engine::require_backend(planner::DeviceKind::cuda);  // Throws, with the fix.
  throw EnvironmentError("this build cannot probe a GPU: build with SLUICE_CUDA=ON");
}

void require_several_gpus(std::int64_t /*gpus*/) {
  engine::require_backend(planner::DeviceKind::cuda);  // Throws, with the fix.
  throw EnvironmentError("this build cannot probe GPUs: build with SLUICE_CUDA=ON");
}

void probe_several_gpus(CudaProbe& /*probe*/, std::int64_t gpus, ProbeDepth /*depth*/,
                        const ProbeProgress& /*progress*/) {
  require_several_gpus(gpus);
}

}  // namespace sluice::profiler
