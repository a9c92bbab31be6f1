// One rank's part of an NCCL communicator, whose calls never block for good.
#pragma once

#include "engine/cuda/fabric/nccl_library.hpp"

#if __has_include(<nccl.h>)

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "engine/execution/poll.hpp"
#include "engine/ranks/world.hpp"
#include "sim/error.hpp"

namespace sluice::engine {

/// How a communicator may use the device.
struct CommunicatorUse {
  bool copy_engines = false;  ///< Whether its collectives use no multiprocessors where they can.
  int most_blocks = 0;  ///< Largest number of blocks of its kernels; 0 for as many as it likes.
  /// Longest time that its creation waits for the other ranks.
  std::chrono::milliseconds patience{120'000};
};

/// One rank's part of an NCCL communicator, on the device that was current at construction. NCCL
/// runs each call in the background; a call here returns once its work is enqueued. Calls come from
/// one thread at a time, `error` and `abort` from any.
class Communicator {
 public:
  /// Meets the other ranks by `id`, which rank 0 made; all of them construct theirs at the same
  /// time. Throws EnvironmentError if NCCL fails or a rank does not come.
  Communicator(const Nccl& nccl, World world, const ncclUniqueId& id, const CommunicatorUse& use);
  ~Communicator();
  Communicator(const Communicator&) = delete;  // Owns the handle.
  Communicator& operator=(const Communicator&) = delete;

  /// Makes `memory`, at the same place and of the same size in each rank's allocation, reachable
  /// for copy engines; all ranks call it. Returns false if the devices cannot do that.
  [[nodiscard]] bool register_window(std::span<std::byte> memory);

  /// Runs `start`, which calls NCCL with the communicator's handle and returns its status, and
  /// returns once the work is enqueued. Throws EnvironmentError, naming `what`, if that fails.
  template <class Start>
  void run(const char* what, const Start& start) {
    settle(what, locked([&](ncclComm_t handle) { return start(handle); }));
  }

  /// An error that NCCL found since, in one line; none if all is well.
  [[nodiscard]] std::optional<std::string> error() const;
  /// Ends the communicator's work on this rank as far as NCCL can, and may hang: call it from a
  /// thread that nobody waits for. Calls that follow throw.
  void abort() noexcept;

 private:
  /// Calls `use` with the handle while it cannot be aborted.
  template <class Use>
  ncclResult_t locked(const Use& use) const {
    const std::lock_guard lock(mutex_);
    if (handle_ == nullptr) throw EnvironmentError("NCCL: the communicator was aborted");
    return use(handle_);
  }
  /// Waits until what a call began is done.
  void settle(const char* what, ncclResult_t status) const;
  [[nodiscard]] ncclResult_t state() const;

  const Nccl& nccl_;
  mutable std::mutex mutex_;  ///< Guards handle_, so that nothing uses it after an abort.
  ncclComm_t handle_ = nullptr;
  std::chrono::milliseconds patience_;
};

}  // namespace sluice::engine

#endif
