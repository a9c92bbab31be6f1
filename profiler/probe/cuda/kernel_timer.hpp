// Timer of kernels on a stream, which enqueues them in rows while the device waits, so that the
// time of launches does not show.
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

  /// Seconds of one `work` on the device: the mean of `repeats` of them in a row.
  [[nodiscard]] Seconds row(const Launch& work, int repeats);
  /// Samples of the seconds of one `work` on the device, until `budget` of wall time is used up: at
  /// least three, each the mean of a row of about a millisecond (at most 200 repetitions), after
  /// one row that is not counted.
  [[nodiscard]] Samples samples(const Launch& work, Seconds budget);
  /// Runs `work` until its time changes by less than half a per cent from one quarter of a second
  /// to the next, or `most` has passed: clocks and temperature are then those of a long run.
  void settle(const Launch& work, Seconds most);

 private:
  Stream stream_;
  Event begin_, end_;
};

}  // namespace sluice::profiler
