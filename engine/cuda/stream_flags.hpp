// Streams and CPU threads meet at words in shared memory: a stream writes one when it gets there,
// or waits until a thread has written it.
#pragma once

#include <cstdint>

#include "engine/cuda/shared_memory.hpp"
#include "engine/device_queues.hpp"

struct CUstream_st;

namespace sluice::engine {

/// By the driver's stream memory operations where it has them (probed once, with one stream);
/// elsewhere a one-thread kernel writes, and waiting is left to the thread that enqueues.
class StreamFlags {
 public:
  explicit StreamFlags(CUstream_st* stream);

  [[nodiscard]] bool streams_wait() const { return wait_ != nullptr; }
  /// flag = step once everything before it on the stream has ended, its writes visible to the CPU.
  void write(CUstream_st* stream, EndFlag* flag, std::int64_t step) const;
  /// Work enqueued later starts once flag >= step; kRunFailed counts. Only where streams_wait().
  void wait(CUstream_st* stream, EndFlag* flag, std::int64_t step) const;

 private:
  void* write_ = nullptr;  ///< cuStreamWriteValue32
  void* wait_ = nullptr;   ///< cuStreamWaitValue32
};

}  // namespace sluice::engine
