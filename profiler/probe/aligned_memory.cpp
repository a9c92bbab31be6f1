#include "profiler/probe/aligned_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "sim/error.hpp"

namespace sluice::profiler {
namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20U;

}  // namespace

ProbeMemory::ProbeMemory(Bytes bytes, Bytes surveyed)
    : memory_(static_cast<std::size_t>(std::max(bytes, surveyed).count()), "probe") {
  memory_.keep(static_cast<std::size_t>(bytes.count()));
}

std::span<std::byte> ProbeMemory::take(std::size_t bytes) {
  const std::size_t whole = (bytes + kHuge - 1) / kHuge * kHuge;
  if (whole > memory_.bytes().size() - taken_) return {};
  return memory_.bytes().subspan(std::exchange(taken_, taken_ + whole), bytes);
}

AlignedMemory::AlignedMemory(Bytes bytes, ProbeMemory* supply)
    : mapped_(static_cast<std::size_t>(bytes.count()) + kHuge),
      size_(static_cast<std::size_t>(bytes.count())) {
  if (supply != nullptr) data_ = supply->take(size_).data();
  if (data_ != nullptr) return;
  void* mapping = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    throw EnvironmentError("cannot map " + std::to_string(size_) +
                           " bytes of host memory for the probe: " + std::strerror(errno));
  }
  mapping_ = static_cast<std::byte*>(mapping);
  data_ = mapping_ + (kHuge - reinterpret_cast<std::uintptr_t>(mapping_) % kHuge) % kHuge;
  madvise(data_, mapped_ - kHuge, MADV_HUGEPAGE);  // A hint that the system may ignore.
}

AlignedMemory::~AlignedMemory() {
  if (mapping_ != nullptr) munmap(mapping_, mapped_);
}

}  // namespace sluice::profiler
