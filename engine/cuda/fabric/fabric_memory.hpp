// Device memory of one rank that the GPUs of other ranks can reach.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace sluice::engine {

/// Device memory for a rank's arena, by NCCL's allocator, so that copy engines of peers can write
/// to it. It is on the device that was current at construction, and has room for tests of a
/// communicator behind its bytes.
class FabricMemory {
 public:
  /// Bytes behind the memory's own for each rank.
  static constexpr std::size_t kSpareOfRank = 4096;

  /// Allocates `bytes` bytes for one of `ranks` ranks. Throws EnvironmentError if NCCL is missing
  /// or the device lacks the memory.
  FabricMemory(std::size_t bytes, int ranks);

  [[nodiscard]] std::span<std::byte> bytes() const { return {memory_.get(), bytes_}; }
  /// The bytes behind those of `bytes`, kSpareOfRank for each rank and as many again.
  [[nodiscard]] std::span<std::byte> spare() const { return whole().subspan(spare_); }
  /// All bytes that were allocated.
  [[nodiscard]] std::span<std::byte> whole() const { return {memory_.get(), whole_}; }

 private:
  std::shared_ptr<std::byte> memory_;
  std::size_t bytes_, spare_, whole_;
};

}  // namespace sluice::engine
