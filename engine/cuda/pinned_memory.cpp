#include "engine/cuda/pinned_memory.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "engine/cuda/check.hpp"

namespace sluice::engine {
namespace {

void touch(std::byte* data, std::size_t bytes) {
  const std::size_t threads =
      std::clamp<std::size_t>(bytes >> 28, 1, std::max(1U, std::thread::hardware_concurrency()));
  const std::size_t part = (bytes / threads + 4095) / 4096 * 4096;
  std::vector<std::thread> workers;
  for (std::size_t begin = 0; begin < bytes; begin += part) {
    workers.emplace_back([=] { std::memset(data + begin, 0, std::min(part, bytes - begin)); });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

PinnedMemory::PinnedMemory(Bytes bytes, const char* what)
    : size_(static_cast<std::size_t>(bytes.count())) {
  check(bytes.count() >= 0, "memory has no negative size");
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = std::max(page, (size_ + page - 1) / page * page);
  void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw EnvironmentError("cannot map " + std::to_string(size_) + " bytes for the " + what + ": " +
                           std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(mapping);
  madvise(data_, mapped_, MADV_HUGEPAGE);  // Advice: without huge pages it is only slower to pin.
  touch(data_, mapped_);
  // One registration: a copy that crosses from one into the next is an invalid argument.
  const cudaError_t status =
      cudaHostRegister(data_, mapped_, cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (status != cudaSuccess) {
    release();
    throw EnvironmentError("cannot pin the " + std::to_string(size_) + " bytes of the " + what +
                           ": " + cudaGetErrorString(status) +
                           ": raise the locked-memory limit (ulimit -l)");
  }
  registered_ = true;
}

PinnedMemory::~PinnedMemory() { release(); }

void PinnedMemory::release() noexcept {
  if (registered_) cudaHostUnregister(data_);
  munmap(data_, mapped_);
}

}  // namespace sluice::engine
