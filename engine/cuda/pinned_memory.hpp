// Host memory that a GPU copies from and to at full speed.
#pragma once

#include <cstddef>
#include <span>

#include "sim/units.hpp"

namespace sluice::engine {

/// Anonymous memory of `bytes`, touched by several threads at once and then registered with the
/// CUDA runtime (quicker than cudaHostAlloc, at the same copy speed). Aligned to a
/// page.
class PinnedMemory {
 public:
  /// Throws EnvironmentError naming `what` and the size where the system or the driver refuses.
  PinnedMemory(Bytes bytes, const char* what);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;  // Addresses inside are held by bound tasks.
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

 private:
  void release() noexcept;

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  bool registered_ = false;
};

}  // namespace sluice::engine
