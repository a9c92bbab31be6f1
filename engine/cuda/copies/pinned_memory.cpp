#include "engine/cuda/copies/pinned_memory.hpp"

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "engine/cuda/runtime/check.hpp"
#include "engine/memory/parallel_memory.hpp"

namespace sluice::engine {
namespace {

constexpr unsigned kRegister = cudaHostRegisterPortable | cudaHostRegisterMapped;

/// Memory that was registered as a whole and is not in use.
struct Range {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

void unpin(const Range& range) {
  if (range.data == nullptr) return;
  cudaHostUnregister(range.data);
  munmap(range.data, range.bytes);
}

struct Keeper {
  std::mutex mutex;
  int wanted = 0;  ///< Number of living KeptPinnedMemory objects.
  Range range;

  /// Hands out the kept memory if `bytes` fit in it; memory that is too small is first returned to
  /// the system.
  Range take(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    const Range found = std::exchange(range, {});
    if (found.bytes >= bytes) return found;
    unpin(found);
    return {};
  }
  void give(const Range& back) {
    const std::lock_guard lock(mutex);
    if (wanted == 0 || back.bytes <= range.bytes) return unpin(back);
    unpin(std::exchange(range, back));
  }
};

Keeper& keeper() {
  static Keeper only;
  return only;
}

}  // namespace

KeptPinnedMemory::KeptPinnedMemory(Bytes at_least) {
  {
    const std::lock_guard lock(keeper().mutex);
    ++keeper().wanted;
  }
  // Memory that is made and released at once is kept.
  if (at_least > held()) const PinnedMemory first(at_least, "host arenas of all plans");
}

KeptPinnedMemory::~KeptPinnedMemory() {
  const std::lock_guard lock(keeper().mutex);
  if (--keeper().wanted == 0) unpin(std::exchange(keeper().range, {}));
}

Bytes KeptPinnedMemory::held() {
  const std::lock_guard lock(keeper().mutex);
  return Bytes(static_cast<std::int64_t>(keeper().range.bytes));
}

PinnedMemory::PinnedMemory(Bytes bytes, const char* what, Pinning pinning)
    : size_(static_cast<std::size_t>(bytes.count())) {
  check(bytes.count() >= 0, "memory has no negative size");
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  mapped_ = std::max(page, (size_ + page - 1) / page * page);
  if (pinning == Pinning::none) {
    map_and_touch(what, EvenMemory::Order::even);
    return;
  }
  if (const Range kept = keeper().take(mapped_); kept.data != nullptr) {
    data_ = kept.data;
    mapped_ = kept.bytes;
    registered_.push_back(data_);
    whole_ = true;
    zero_in_parallel(data_, size_);
    return;
  }
  map_and_touch(what, EvenMemory::Order::even);
  pin_whole();
  if (whole_ || !reordered_) return;
  // Pinned memory of uneven speed is faster than unpinned memory of even speed, in case a driver
  // refuses memory that consists of many mappings.
  munmap(data_, mapped_);
  refusal_.clear();
  map_and_touch(what, EvenMemory::Order::as_found);
  pin_whole();
}

PinnedMemory::PinnedMemory(std::span<std::byte> memory)
    : data_(memory.data()), size_(memory.size()), mapped_(memory.size()), owned_(false) {
  pin_whole();
}

void PinnedMemory::pin_whole() {
  // One registration for all, because a copy across two registrations is an invalid argument.
  const cudaError_t status = cudaHostRegister(data_, mapped_, kRegister);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
    refusal_ = cudaGetErrorString(status);
    return;
  }
  registered_.push_back(data_);
  whole_ = true;
}

void PinnedMemory::map_and_touch(const char* what, EvenMemory::Order order) {
  // One at a time: each uses all cores, and another's traffic would count as latency of its pages.
  static std::mutex only;
  const std::lock_guard lock(only);
  EvenMemory mapping(mapped_, what, order);
  reordered_ = mapping.kinds().has_value();
  const std::span<std::byte> memory = mapping.release();
  data_ = memory.data();
  mapped_ = memory.size();
}

void PinnedMemory::pin_part(std::span<std::byte> part) {
  check(part.data() >= data_ && part.data() + part.size() <= data_ + mapped_,
        "a part of this memory");
  if (whole_) return;
  const auto page = static_cast<std::ptrdiff_t>(sysconf(_SC_PAGESIZE));
  std::byte* first = data_ + (part.data() - data_) / page * page;
  for (std::byte* at = first; at < part.data() + part.size(); at += page) {
    if (!pages_.insert(at).second) continue;
    check_cuda(cudaHostRegister(at, static_cast<std::size_t>(page), kRegister),
               "pinning one page of host memory");
    registered_.push_back(at);
  }
}

PinnedMemory::~PinnedMemory() {
  if (whole_ && owned_) {
    keeper().give({data_, mapped_});
    return;
  }
  for (std::byte* const start : registered_) cudaHostUnregister(start);
  if (owned_) munmap(data_, mapped_);
}

}  // namespace sluice::engine
