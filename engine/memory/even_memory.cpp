#include "engine/memory/even_memory.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/memory/parallel_memory.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20U;
constexpr std::size_t kLeastPiece = std::size_t{16} << 20U;
/// Largest number of pieces: each may become a mapping of its own, of which Linux gives a process
/// 65530.
constexpr std::size_t kMostPieces = 8192;
/// Least number of pieces for which the survey is worth its time.
constexpr std::size_t kLeastPieces = 16;

std::size_t whole_pages(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::max(page, (bytes + page - 1) / page * page);
}

/// Reserves addresses for `bytes` from a huge page's start, without resident pages.
std::byte* map_aligned(std::size_t bytes, int protection) {
  const std::size_t with_slack = bytes + kHugePage;
  void* mapping =
      mmap(nullptr, with_slack, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const start = static_cast<std::byte*>(mapping);
  const std::size_t before =
      (kHugePage - reinterpret_cast<std::uintptr_t>(mapping) % kHugePage) % kHugePage;
  if (before > 0) munmap(start, before);
  munmap(start + before + bytes, kHugePage - before);
  return start + before;
}

/// Keeps the calling thread on its current core while this object lives.
class StayOnCore {
 public:
  StayOnCore() {
    if (sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    const int core = sched_getcpu();
    if (core < 0 || core >= CPU_SETSIZE) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    stays_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~StayOnCore() {
    if (stays_) sched_setaffinity(0, sizeof before_, &before_);
  }
  StayOnCore(const StayOnCore&) = delete;  // Belongs to one scope.
  StayOnCore& operator=(const StayOnCore&) = delete;

 private:
  cpu_set_t before_{};
  bool stays_ = false;
};

bool several_numa_nodes() {
  std::error_code none;
  return std::filesystem::exists("/sys/devices/system/node/node1", none);
}

}  // namespace

EvenMemory::EvenMemory(std::size_t bytes)
    : size_(whole_pages(bytes)),
      piece_(std::max(kLeastPiece, (size_ / kMostPieces + kHugePage - 1) / kHugePage * kHugePage)) {
}

EvenMemory::EvenMemory(std::size_t bytes, const char* what, Order order) : EvenMemory(bytes) {
  map(what);
  if (order == Order::as_found || several_numa_nodes()) return;
  {
    const StayOnCore here;
    survey(load_latency);
  }
  if (kinds_) reorder();
}

EvenMemory::EvenMemory(std::size_t bytes, const char* what, const Latency& latency)
    : EvenMemory(bytes) {
  map(what);
  survey(latency);
  if (kinds_) reorder();
}

EvenMemory::~EvenMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

EvenMemory::EvenMemory(EvenMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      piece_(other.piece_),
      kinds_(std::move(other.kinds_)) {}

void EvenMemory::map(const char* what) {
  data_ = map_aligned(size_, PROT_READ | PROT_WRITE);
  if (data_ == nullptr) {
    throw EnvironmentError("cannot map " + std::to_string(size_) + " bytes for the " + what + ": " +
                           std::strerror(errno));
  }
  madvise(data_, size_, MADV_HUGEPAGE);  // Only advice: without huge pages pinning is slower.
  zero_in_parallel(data_, size_);
}

void EvenMemory::survey(const Latency& latency) {
  const std::size_t pieces = size_ / piece_;
  if (pieces < kLeastPieces) return;
  std::vector<Seconds> latencies;
  latencies.reserve(pieces);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    latencies.push_back(latency({data_ + piece * piece_, piece_}));
  }
  kinds_ = kinds_of(latencies);
}

void EvenMemory::reorder() {
  std::byte* const places = map_aligned(size_, PROT_NONE);
  if (places == nullptr) return;  // Memory stays uneven, and nothing is lost.
  // Pages change their addresses without being copied. Those that cannot be moved are left out, and
  // replaced after their old pages were released: there may be no memory for both.
  const auto order = even_order(kinds_->is_slow);
  std::vector<std::span<std::byte>> missing;
  const auto move = [&](std::size_t from, std::size_t to, std::size_t bytes) {
    void* const moved =
        mremap(data_ + from, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, places + to);
    if (moved == MAP_FAILED) missing.push_back({places + to, bytes});
  };
  for (std::size_t place = 0; place < order.size(); ++place) {
    move(order[place] * piece_, place * piece_, piece_);
  }
  const std::size_t tail = order.size() * piece_;
  if (tail < size_) move(tail, tail, size_ - tail);
  munmap(data_, size_);
  data_ = places;
  for (const std::span<std::byte> part : missing) {
    if (mmap(part.data(), part.size(), PROT_READ | PROT_WRITE,
             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED) {
      const int error = errno;
      throw EnvironmentError("cannot map " + std::to_string(part.size()) +
                             " bytes of host memory again: " + std::strerror(error));
    }
    zero_in_parallel(part.data(), part.size());
  }
}

void EvenMemory::keep(std::size_t bytes) {
  const std::size_t kept = whole_pages(bytes);
  if (kept >= size_) return;
  munmap(data_ + kept, size_ - kept);
  size_ = kept;
}

std::span<std::byte> EvenMemory::release() {
  return {std::exchange(data_, nullptr), std::exchange(size_, 0)};
}

}  // namespace sluice::engine
