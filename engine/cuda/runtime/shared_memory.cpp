#include "engine/cuda/runtime/shared_memory.hpp"

#include <algorithm>
#include <cstring>

#include "engine/cuda/runtime/check.hpp"

namespace sluice::engine {

SharedMemory::SharedMemory(std::size_t bytes) {
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, size, cudaHostAllocPortable | cudaHostAllocMapped),
             "memory shared with the device");
  std::memset(memory, 0, size);
  data_ = static_cast<std::byte*>(memory);
}

SharedMemory::~SharedMemory() { cudaFreeHost(data_); }

}  // namespace sluice::engine
