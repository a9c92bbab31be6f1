// Copies between pageable host memory and the device, where the system lets no more than a little
// be pinned: through a small pinned ring, the CPU filling or emptying one slot while the copy
// engine works on another.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>

#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/optimizer/thread_pool.hpp"

namespace sluice::engine {

/// One lane's ring. Calls come from one thread.
class StagedCopies {
 public:
  /// Takes as large slots as can be pinned. Throws EnvironmentError where not even the smallest
  /// can.
  explicit StagedCopies(cudaStream_t stream);
  ~StagedCopies();
  StagedCopies(const StagedCopies&) = delete;  // Owns events.
  StagedCopies& operator=(const StagedCopies&) = delete;

  /// Both return when the copy has ended.
  void to_device(const std::byte* source, std::byte* destination, std::size_t bytes);
  void to_host(const std::byte* source, std::byte* destination, std::size_t bytes);

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr int kThreads = 3;  ///< What fills the link on the hosts seen, or nearly.
  [[nodiscard]] std::byte* slot(std::size_t piece) const {
    return ring_->data() + piece % kSlots * slot_bytes_;
  }
  void move(std::byte* destination, const std::byte* source, std::size_t bytes);

  cudaStream_t stream_;
  std::size_t slot_bytes_ = 0;
  std::unique_ptr<SharedMemory> ring_;
  std::array<cudaEvent_t, kSlots> free_{};  ///< The copy engine is done with the slot.
  ThreadPool pool_{kThreads};
};

}  // namespace sluice::engine
