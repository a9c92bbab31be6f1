// Copies on a stream slowed down to the rate of a slower link, to imitate a smaller machine's PCIe.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <thread>

#include "engine/cuda/copies/link_gates.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/cuda/runtime/stream_flags.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// Slows down copies on a stream. After each piece the stream reports its progress and waits, by
/// the driver's stream memory operations, until this object's thread lets it continue at start +
/// bytes so far / rate. The GPU's multiprocessors are not involved. Within a piece, memory sees the
/// link's full speed.
class StreamPacer {
 public:
  /// Slows copies on `stream` down to `rate`. Throws EnvironmentError if the driver has no stream
  /// memory operations.
  StreamPacer(cudaStream_t stream, BytesPerSecond rate);
  /// Requires that the stream has finished all its work, or has failed.
  ~StreamPacer();
  StreamPacer(const StreamPacer&) = delete;  // The stream holds addresses of its words.
  StreamPacer& operator=(const StreamPacer&) = delete;

  /// Enqueues a copy of `bytes`; cudaMemcpyDefault derives the direction from the addresses.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

 private:
  cudaStream_t stream_;
  SharedMemory memory_;
  EndFlag* reached_;  ///< Progress of the stream, written by it.
  EndFlag* opened_;   ///< Number of the last gate that the stream may pass, read by it.
  StreamFlags flags_;
  LinkGates gates_;
  std::jthread thread_;  ///< Declared last, because it uses all members above.
};

}  // namespace sluice::engine
