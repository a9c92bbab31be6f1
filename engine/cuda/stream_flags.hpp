// How streams tell CPU threads where they are: words in shared memory.
#pragma once

#include <cstdint>

#include "engine/device_queues.hpp"

struct CUstream_st;

namespace sluice::engine {

/// By the driver's stream memory operations where it has them (probed once, with one stream),
/// elsewhere by a one-thread kernel.
class StreamFlags {
 public:
  explicit StreamFlags(CUstream_st* stream);

  /// flag = step once everything before it on the stream has ended, its writes visible to the CPU.
  void write(CUstream_st* stream, EndFlag* flag, std::int64_t step) const;

 private:
  void* write_ = nullptr;  ///< cuStreamWriteValue32, where it works.
};

}  // namespace sluice::engine
