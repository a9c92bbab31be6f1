#include "profiler/cupti/record_buffers.hpp"

#include <new>
#include <utility>

namespace sluice::profiler::cupti {

RecordBuffers::RecordBuffers(std::size_t bytes, std::size_t ready, std::size_t most)
    : bytes_(bytes), most_(most) {
  // So that giving back never allocates.
  all_.reserve(most);
  free_.reserve(most);
  filled_.reserve(most);
  for (std::size_t i = 0; i < ready; ++i) free_.push_back(make());
}

std::byte* RecordBuffers::make() {
  all_.push_back(std::make_unique<std::byte[]>(bytes_));  // Zeroed: that touches its pages.
  return all_.back().get();
}

std::byte* RecordBuffers::lend() noexcept {
  const std::lock_guard lock(mutex_);
  if (!free_.empty()) {
    std::byte* buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  if (all_.size() < most_) {
    try {
      return make();
    } catch (const std::bad_alloc&) {
      // Refused as below: the caller is a C library.
    }
  }
  ++refused_;
  return nullptr;
}

void RecordBuffers::give_back(std::byte* buffer, std::size_t used) noexcept {
  const std::lock_guard lock(mutex_);
  if (keep_ && used > 0) {
    filled_.push_back({buffer, used});
  } else {
    free_.push_back(buffer);
  }
}

void RecordBuffers::keep(bool kept) {
  const std::lock_guard lock(mutex_);
  keep_ = kept;
}

std::vector<RecordBuffers::Filled> RecordBuffers::take() {
  const std::lock_guard lock(mutex_);
  std::vector<Filled> taken = filled_;
  filled_.clear();  // Keeps its room.
  return taken;
}

void RecordBuffers::reuse(const Filled& buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(buffer.data);
}

std::size_t RecordBuffers::take_refusals() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refused_, 0);
}

}  // namespace sluice::profiler::cupti
