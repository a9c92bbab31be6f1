#include "engine/cuda/fabric/fabric_memory.hpp"

#include "engine/cuda/fabric/nccl_library.hpp"

namespace sluice::engine {
namespace {

/// `bytes` rounded up to whole pieces of spare memory, so that what follows is aligned as windows
/// are.
std::size_t aligned_end(std::size_t bytes) {
  constexpr std::size_t kUnit = FabricMemory::kSpareOfRank;
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

FabricMemory::FabricMemory(std::size_t bytes, int ranks)
    : bytes_(bytes),
      spare_(aligned_end(bytes)),
      whole_(spare_ + 2 * kSpareOfRank * static_cast<std::size_t>(ranks)) {
  const Nccl nccl;
  void* memory = nullptr;
  nccl.check(nccl.calls().allocate(&memory, whole_), "the device arena of a rank");
  memory_ = {static_cast<std::byte*>(memory),
             [release = nccl.calls().release](std::byte* data) { release(data); }};
}

}  // namespace sluice::engine
