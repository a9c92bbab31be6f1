// Copies on a stream that take as long as a slower link would: a smaller machine's PCIe.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <thread>

#include "engine/cuda/copies/link_gates.hpp"
#include "engine/cuda/runtime/shared_memory.hpp"
#include "engine/cuda/runtime/stream_flags.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// After each piece of a copy the stream reports and waits, by the driver's stream memory
/// operations, until this object's thread lets it go on at start + bytes so far / rate. Nothing of
/// it runs on the GPU's multiprocessors. Memory sees the link's own speed in between.
class StreamPacer {
 public:
  /// Throws EnvironmentError where the driver has no stream memory operations.
  StreamPacer(cudaStream_t stream, BytesPerSecond rate);
  /// The stream must have ended all its work or failed.
  ~StreamPacer();
  StreamPacer(const StreamPacer&) = delete;  // The stream holds addresses of its words.
  StreamPacer& operator=(const StreamPacer&) = delete;

  /// Enqueues a copy of `bytes` between memory that cudaMemcpyDefault tells apart.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

 private:
  cudaStream_t stream_;
  SharedMemory memory_;
  EndFlag* reached_;  ///< Written by the stream: what it came to.
  EndFlag* opened_;   ///< Read by the stream: gates it may pass.
  StreamFlags flags_;
  LinkGates gates_;
  std::jthread thread_;  ///< Last: uses all of the above.
};

}  // namespace sluice::engine
