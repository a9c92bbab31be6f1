// Flags in shared memory by which streams tell CPU threads their progress.
#pragma once

#include <cstdint>

#include "engine/execution/device_queues.hpp"

struct CUstream_st;

namespace sluice::engine {

/// Lets CUDA streams write flags that the CPU reads, and wait for flags that it writes: by the
/// driver's stream memory operations if they work (tried once, with one stream); otherwise a kernel
/// of one thread writes, and waiting is impossible.
class StreamFlags {
 public:
  explicit StreamFlags(CUstream_st* stream);

  /// Enqueues flag = step on `stream`: written once everything before it on the stream has ended
  /// and its results are visible to the CPU.
  void write(CUstream_st* stream, EndFlag* flag, std::int64_t step) const;

  /// Whether streams can wait for flags that the CPU writes.
  [[nodiscard]] bool can_wait() const { return wait_ != nullptr; }
  /// Makes `stream` wait until flag >= `value` (in 32 bits, cyclic). Needs can_wait().
  void wait(CUstream_st* stream, EndFlag* flag, std::int32_t value) const;

 private:
  void* wait_ = nullptr;  ///< The driver's function cuStreamWaitValue32; null if it does not work.
  /// The driver's function cuStreamWriteValue32; null if it does not work.
  void* write_ = nullptr;
};

}  // namespace sluice::engine
