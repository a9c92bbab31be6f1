// Mapped memory of fixed size that serves the host backend as HBM and as pinned host memory.
#pragma once

#include <cstddef>
#include <span>

#include "sim/units.hpp"

namespace sluice::engine {

/// Anonymous memory of exactly `bytes`, fully resident from construction, aligned to 256 bytes. An
/// inaccessible page begins less than 256 bytes behind the last byte, so that a task that runs past
/// its arena ends the process instead of corrupting other memory.
class MappedMemory {
 public:
  /// Initial value of every byte: it makes NaN in fp32, fp64 and bf16, so that a read of unwritten
  /// memory shows up in the loss.
  static constexpr unsigned char kUnwritten = 0xFF;

  /// Throws EnvironmentError naming `what` and the size if the system refuses.
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
