#include "engine/cuda/copies/staged_copies.hpp"

#include <algorithm>
#include <cstring>

#include "engine/cuda/runtime/check.hpp"

namespace sluice::engine {
namespace {

constexpr std::size_t kMost = std::size_t{16} << 20;
constexpr std::size_t kLeast = std::size_t{64} << 10;
constexpr std::size_t kTile = std::size_t{1} << 20;

std::size_t pieces_of(std::size_t bytes, std::size_t piece) { return (bytes + piece - 1) / piece; }

}  // namespace

StagedCopies::StagedCopies(cudaStream_t stream) : stream_(stream) {
  for (slot_bytes_ = kMost; ring_ == nullptr; slot_bytes_ /= 4) {
    try {
      ring_ = std::make_unique<SharedMemory>(kSlots * slot_bytes_);
      break;
    } catch (const EnvironmentError&) {
      (void)cudaGetLastError();
      if (slot_bytes_ / 4 < kLeast) {
        throw EnvironmentError("cannot pin even " + std::to_string(kSlots * slot_bytes_) +
                               " bytes of host memory for copies: raise the locked-memory limit "
                               "(ulimit -l) or the container's memory limit");
      }
    }
  }
  for (cudaEvent_t& event : free_) {
    check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  }
}

StagedCopies::~StagedCopies() {
  for (const cudaEvent_t event : free_) {
    if (event != nullptr) cudaEventDestroy(event);
  }
}

void StagedCopies::to_device(const std::byte* source, std::byte* destination, std::size_t bytes) {
  const std::size_t pieces = pieces_of(bytes, slot_bytes_);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    const std::size_t at = piece * slot_bytes_;
    const std::size_t size = std::min(slot_bytes_, bytes - at);
    check_cuda(cudaEventSynchronize(free_[piece % kSlots]), "a staged copy");
    move(slot(piece), source + at, size);
    check_cuda(
        cudaMemcpyAsync(destination + at, slot(piece), size, cudaMemcpyHostToDevice, stream_),
        "a staged copy");
    check_cuda(cudaEventRecord(free_[piece % kSlots], stream_), "a staged copy");
  }
  check_cuda(cudaStreamSynchronize(stream_), "a staged copy");
}

void StagedCopies::to_host(const std::byte* source, std::byte* destination, std::size_t bytes) {
  const std::size_t pieces = pieces_of(bytes, slot_bytes_);
  const auto size_of = [&](std::size_t piece) {
    return std::min(slot_bytes_, bytes - piece * slot_bytes_);
  };
  for (std::size_t issued = 0, emptied = 0; emptied < pieces; ++emptied) {
    for (; issued < pieces && issued < emptied + kSlots; ++issued) {
      check_cuda(cudaMemcpyAsync(slot(issued), source + issued * slot_bytes_, size_of(issued),
                                 cudaMemcpyDeviceToHost, stream_),
                 "a staged copy");
      check_cuda(cudaEventRecord(free_[issued % kSlots], stream_), "a staged copy");
    }
    check_cuda(cudaEventSynchronize(free_[emptied % kSlots]), "a staged copy");
    move(destination + emptied * slot_bytes_, slot(emptied), size_of(emptied));
  }
}

void StagedCopies::move(std::byte* destination, const std::byte* source, std::size_t bytes) {
  auto tile = [&](std::int64_t i) {
    const std::size_t at = static_cast<std::size_t>(i) * kTile;
    std::memcpy(destination + at, source + at, std::min(kTile, bytes - at));
  };
  pool_.run(static_cast<std::int64_t>(pieces_of(bytes, kTile)), pool_.threads(), tile);
}

}  // namespace sluice::engine
