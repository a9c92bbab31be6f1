// Flags in shared memory by which streams tell CPU threads their progress.
#pragma once

#include <cstdint>

#include "engine/execution/device_queues.hpp"

struct CUstream_st;

namespace sluice::engine {

/// Writes flags from a stream: by the driver's stream memory operations if they work (tried once,
/// with one stream), otherwise by a kernel of one thread.
class StreamFlags {
 public:
  explicit StreamFlags(CUstream_st* stream);

  /// flag = step, written once everything before it on the stream has ended and its results are
  /// visible to the CPU.
  void write(CUstream_st* stream, EndFlag* flag, std::int64_t step) const;

  /// Whether streams can wait for values that the CPU writes.
  [[nodiscard]] bool can_wait() const { return wait_ != nullptr; }
  /// Makes the stream wait until flag >= `value` (in 32 bits, cyclic). Needs can_wait().
  void wait(CUstream_st* stream, EndFlag* flag, std::int32_t value) const;

 private:
  void* wait_ = nullptr;   ///< Address of cuStreamWaitValue32, if it works.
  void* write_ = nullptr;  ///< Address of cuStreamWriteValue32, if it works.
};

}  // namespace sluice::engine
