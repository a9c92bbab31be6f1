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

/// Slows the copies on a stream down to a rate, to imitate a machine with a slower link. After each
/// piece of a copy the stream reports its progress and waits, by the driver's stream memory
/// operations, until this object's thread lets it continue at start + bytes so far / rate. Within a
/// piece, memory sees the link's full speed.
class StreamPacer {
 public:
  /// Begins to pace copies on `stream` at `rate`. Throws EnvironmentError if the driver has no
  /// stream memory operations.
  StreamPacer(cudaStream_t stream, BytesPerSecond rate);
  /// Ends the thread. The stream must have finished all its work, or have failed.
  ~StreamPacer();
  StreamPacer(const StreamPacer&) = delete;  // The stream holds addresses of its words.
  StreamPacer& operator=(const StreamPacer&) = delete;

  /// Enqueues a paced copy of `bytes` bytes; cudaMemcpyDefault derives its direction from the
  /// addresses.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

 private:
  cudaStream_t stream_;
  SharedMemory memory_;
  EndFlag* reached_;  ///< Word in which the stream counts its progress (see LinkGates).
  /// Word with the number of the last gate that the stream may pass; the stream reads it.
  EndFlag* opened_;
  StreamFlags flags_;
  LinkGates gates_;
  /// Thread that opens the gates. Declared last, because it uses all members above.
  std::jthread thread_;
};

}  // namespace sluice::engine
