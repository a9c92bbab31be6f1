// Small pinned host memory that kernels and copy engines read and write in place.
#pragma once

#include <cstddef>

namespace sluice::engine {

class SharedMemory {
 public:
  /// Allocates `bytes` bytes of zeroed pinned host memory, which the GPU reads and writes in place.
  /// Throws EnvironmentError if not even this much can be pinned.
  explicit SharedMemory(std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;  // Devices hold its address.
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

}  // namespace sluice::engine
