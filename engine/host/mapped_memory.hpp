// Memory of a fixed size, mapped and touched once: what stands for HBM and for pinned host memory.
#pragma once

#include <cstddef>
#include <span>

#include "sim/units.hpp"

namespace sluice::engine {

/// Anonymous memory of exactly `bytes`, every page touched at construction, aligned to 256, with an
/// unmapped page less than 256 bytes behind its last byte: a task that runs past its arena ends the
/// process instead of corrupting something else.
class MappedMemory {
 public:
  /// Value every byte starts with: fp32, fp64 and bf16 NaN, so that reading what no task has
  /// written shows up in the loss.
  static constexpr unsigned char kUnwritten = 0xFF;

  /// Throws EnvironmentError naming `what` and the size where the system refuses.
  MappedMemory(Bytes bytes, const char* what);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;  // Addresses inside are held by bound tasks.
  MappedMemory& operator=(const MappedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* mapping_ = nullptr;
  std::size_t mapped_ = 0;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace sluice::engine
