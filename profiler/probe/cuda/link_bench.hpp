// Measurement of copies between pinned host memory and the device, by size and over long times.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/cuda/copies/pinned_memory.hpp"
#include "planner/costs/cost.hpp"
#include "profiler/probe/aligned_memory.hpp"
#include "profiler/probe/contention_grid.hpp"
#include "profiler/probe/cuda/resources.hpp"
#include "profiler/probe/cuda/steady_load.hpp"
#include "profiler/probe/curves.hpp"

namespace sluice::profiler {

using planner::CopyDirection;

/// A host buffer and a device buffer for each direction of copies. Pieces of a long copy go through
/// them one after another, so that no cache holds what is copied.
class LinkBench {
 public:
  /// Makes buffers of `buffer` bytes each, the host's from `supply` where given. Throws
  /// EnvironmentError where there is not enough memory; where it cannot be pinned, refusal() says
  /// why.
  explicit LinkBench(Bytes buffer, ProbeMemory* supply = nullptr);

  /// Why the host buffers are not pinned, so that copies are those of pageable memory; none where
  /// they are pinned.
  [[nodiscard]] std::optional<std::string> refusal() const;
  [[nodiscard]] Bytes buffer() const { return buffer_; }

  /// Rates of single copies, each waited for, by size: from 4 KiB to the buffer's size in factors
  /// of four.
  [[nodiscard]] std::vector<SizedRate> by_size(CopyDirection direction, Seconds budget_each);

  /// Time between copies that follow each other as in a run's queues: with events
  /// around each copy, and a flag that tells the CPU of its end.
  [[nodiscard]] planner::MeasuredTime gap(CopyDirection direction) const;

  /// A load that copies pieces of kPiece in this direction until it is stopped.
  [[nodiscard]] std::unique_ptr<SteadyLoad> steady(CopyDirection direction);
  static constexpr Bytes kPiece = Bytes(std::int64_t{32} << 20);

 private:
  /// Enqueues a copy of `bytes` bytes at byte `offset` of the buffers.
  void copy(CopyDirection direction, std::int64_t offset, Bytes bytes, cudaStream_t stream) const;

  Bytes buffer_;
  AlignedMemory down_memory_, up_memory_;
  engine::PinnedMemory down_host_, up_host_;  ///< Pinned views of down_memory_ and up_memory_.
  DeviceMemory down_device_, up_device_;
};

/// Rate of copies through a pinned ring from and to memory that is not pinned, one for both
/// directions: their mean, whose deviation includes their difference.
[[nodiscard]] planner::Bandwidth staged_copy_rate(Bytes bytes, Seconds budget);

}  // namespace sluice::profiler
