// Staged copies between pageable host memory and the device, for systems that can pin only little:
// through a small pinned ring, of which the CPU fills or empties one slot while the copy engine
// works on another.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>

#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/optimizer/thread_pool.hpp"

namespace sluice::engine {

/// Copies between ordinary host memory and the device for one lane, through a small pinned ring of
/// its own: the CPU fills or empties one slot while the copy engine works on another. Calls must
/// come from one thread.
class StagedCopies {
 public:
  /// Pins a ring of kSlots slots of 16 MiB each or, where the system refuses that, of a quarter as
  /// much, and so on down to 64 KiB. Throws EnvironmentError if not even slots of 64 KiB can be
  /// pinned.
  explicit StagedCopies(cudaStream_t stream);
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;  // Owns events.
  StagedCopies& operator=(const StagedCopies&) = delete;

  /// Copy `bytes` bytes from host to device (to_device) or from device to host (to_host), and
  /// return when the copy has ended.
  void to_device(const std::byte* source, std::byte* destination, std::size_t bytes);
  void to_host(const std::byte* source, std::byte* destination, std::size_t bytes);

 private:
  static constexpr std::size_t kSlots = 4;
  /// Number of CPU threads that copy between host memory and the ring; they (nearly) saturate the
  /// link.
  static constexpr int kThreads = 3;
  [[nodiscard]] std::byte* slot(std::size_t piece) const {
    return ring_->data() + piece % kSlots * slot_bytes_;
  }
  void move(std::byte* destination, const std::byte* source, std::size_t bytes);

  cudaStream_t stream_;
  std::size_t slot_bytes_ = 0;
  std::unique_ptr<SharedMemory> ring_;
  /// For each slot, an event after which the copy engine no longer uses it.
  std::array<cudaEvent_t, kSlots> free_{};
  ThreadPool pool_{kThreads};
};

}  // namespace sluice::engine
