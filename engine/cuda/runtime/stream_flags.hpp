// How streams tell CPU threads where they are: words in shared memory.
#pragma once

#include <cstdint>

#include "engine/execution/device_queues.hpp"

struct CUstream_st;

namespace sluice::engine {

/// By the driver's stream memory operations where it has them (probed once, with one stream),
/// elsewhere by a one-thread kernel.
class StreamFlags {
 public:
  explicit StreamFlags(CUstream_st* stream);

  /// flag = step once everything before it on the stream has ended, its writes visible to the CPU.
  void write(CUstream_st* stream, EndFlag* flag, std::int64_t step) const;

  /// Whether streams can wait for words that the CPU writes.
  [[nodiscard]] bool can_wait() const { return wait_ != nullptr; }
  /// The stream goes on once flag >= `value` (in 32 bits, cyclic). Needs can_wait().
  void wait(CUstream_st* stream, EndFlag* flag, std::int32_t value) const;

 private:
  void* wait_ = nullptr;   ///< cuStreamWaitValue32, where it works.
  void* write_ = nullptr;  ///< cuStreamWriteValue32, where it works.
};

}  // namespace sluice::engine
