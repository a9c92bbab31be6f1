// Times kernels on a stream, enqueued in rows while the device waits, so that launches do not show.
#pragma once

#include <functional>

#include "profiler/probe/cuda/resources.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

using Launch = std::function<void(cudaStream_t)>;

class KernelTimer {
 public:
  KernelTimer();
  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }

  /// Seconds of one `work` on the device, as the mean of `repeats` in a row.
  [[nodiscard]] Seconds row(const Launch& work, int repeats);
  /// Seconds of one `work`, sampled until `budget` of wall time is used up: at least three rows of
  /// at least a millisecond each, after one that is not counted.
  [[nodiscard]] Samples samples(const Launch& work, Seconds budget);
  /// Runs `work` until its time changes by less than half a per cent between quarters of a second,
  /// or `most` has passed: clocks and temperature are then those of a long run.
  void settle(const Launch& work, Seconds most);

 private:
  Stream stream_;
  Event begin_, end_;
};

}  // namespace sluice::profiler
