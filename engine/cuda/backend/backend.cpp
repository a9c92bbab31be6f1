#include "engine/cuda/backend/backend.hpp"

#include "engine/cuda/backend/cuda_device.hpp"
#include "engine/cuda/backend/gemm_tuner.hpp"
#include "engine/cuda/runtime/check.hpp"
#include "engine/cuda/runtime/on_device.hpp"
#include "planner/files/hash.hpp"

namespace sluice::engine::cuda {

void require_backend() { require_usable_device(); }

std::unique_ptr<engine::Device> make_device(const planner::Job& job, const ArenaSizes& arenas,
                                            const ArenaSizes& capacity, int threads, bool staged,
                                            std::optional<BytesPerSecond> paced, World world,
                                            World here) {
  require_usable_device();
  CudaDeviceSettings settings{.arenas = arenas,
                              .capacity = capacity,
                              .threads = threads,
                              .staged = staged,
                              .paced = paced,
                              .world = world,
                              .here = gpu_of(here)};
  if (world.size > 1) require_gpus(settings.here);
  const OnDevice on_gpu(settings.here.rank);
  // Tuning comes before the arenas, because it needs device memory of its own. Parts of a sequence
  // can have any number of tokens, so no table can hold their products.
  if (!job.sequence_chunk) settings.gemm = ensure_gemm_table(job);
  return std::make_unique<CudaDevice>(job, settings);
}

std::shared_ptr<void> keep_pinned_memory(Bytes at_least) {
  return std::make_shared<KeptPinnedMemory>(at_least);
}

Bytes kept_pinned_memory() { return KeptPinnedMemory::held(); }

std::string numerics_id(const planner::Job& job) {
  require_usable_device();
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, 0), "the device's properties");
  return planner::sha256_hex("cuda sm_" + std::to_string(properties.major) +
                             std::to_string(properties.minor) + ", " +
                             CudaTemplates(job, ensure_gemm_table(job)).numerics());
}

}  // namespace sluice::engine::cuda
