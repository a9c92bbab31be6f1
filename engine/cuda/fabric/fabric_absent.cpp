// Collectives between GPUs in a build without NCCL's header.
#include "engine/cuda/fabric/fabric_memory.hpp"
#include "engine/cuda/fabric/gpu_fabric.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr const char* kWithoutNccl =
    "this build has no NCCL, which ranks on several GPUs need: install its header nccl.h (pip: "
    "nvidia-nccl-cu13) and build again, or use one GPU";

}  // namespace

std::optional<std::string> why_no_gpu_fabric(int /*ranks*/) { return kWithoutNccl; }

FabricMemory::FabricMemory(std::size_t bytes, int /*ranks*/)
    : bytes_(bytes), spare_(bytes), whole_(bytes) {
  throw EnvironmentError(kWithoutNccl);
}

struct GpuFabric::Connection {};

GpuFabric::GpuFabric(const RankLinks& links, const FabricMemory& memory, CUstream_st* stream,
                     const GpuFabricSettings& settings)
    : links_(links), memory_(memory), stream_(stream), settings_(settings) {
  throw EnvironmentError(kWithoutNccl);
}

GpuFabric::~GpuFabric() = default;

void GpuFabric::connect() {}
bool GpuFabric::gathers_by_copy_engines() const { return false; }
void GpuFabric::enqueue_gather(const RankRuns& /*runs*/, const Members& /*members*/,
                               const std::byte* /*own*/) {}
void GpuFabric::enqueue_exchange(const RankRuns& /*own*/, std::span<std::byte> /*received*/,
                                 const Members& /*members*/) {}
void GpuFabric::all_gather(const RankRuns& /*runs*/, const Members& /*members*/) {}
void GpuFabric::exchange(const RankRuns& /*own*/, std::span<std::byte> /*received*/,
                         const Members& /*members*/) {}
void GpuFabric::require_health() const {}

}  // namespace sluice::engine
