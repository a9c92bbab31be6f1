#include "profiler/probe/aligned_memory.hpp"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20U;

}  // namespace

AlignedMemory::AlignedMemory(Bytes bytes)
    : mapped_(static_cast<std::size_t>(bytes.count()) + kHuge),
      size_(static_cast<std::size_t>(bytes.count())) {
  void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw EnvironmentError("cannot map " + std::to_string(size_) +
                           " bytes of host memory for the probe: " + std::strerror(errno));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  data_ = mapping_ + (kHuge - reinterpret_cast<std::uintptr_t>(mapping_) % kHuge) % kHuge;
  madvise(data_, mapped_ - kHuge, MADV_HUGEPAGE);  // A wish.
}

AlignedMemory::~AlignedMemory() { munmap(mapping_, mapped_); }

}  // namespace sluice::profiler
