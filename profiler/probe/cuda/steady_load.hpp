// Device work that is repeated while something else is measured.
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "sim/units.hpp"

namespace sluice::profiler {

/// A load that enqueues the same work on a stream of its own until stopped, always a few
/// repetitions ahead of the device, from a thread that sleeps while it waits.
class SteadyLoad {
 public:
  /// Function that enqueues one repetition on `stream`, which is of the device that was current
  /// where the load was made; called on the load's thread with the repetition's number, from 0.
  /// What it enqueues must stay valid until the load has stopped.
  using Enqueue = std::function<void(cudaStream_t stream, std::int64_t repetition)>;

  [[nodiscard]] explicit SteadyLoad(Enqueue enqueue);
  ~SteadyLoad();                           ///< Stops the load; an exception that it threw is lost.
  SteadyLoad(const SteadyLoad&) = delete;  // The load's thread holds `this`.
  SteadyLoad& operator=(const SteadyLoad&) = delete;

  /// Stops the load and waits until all that it enqueued has ended. Throws what the load threw.
  void stop();

  /// Repetitions per second that ended within [from, to] of the steady clock (Timer::wall), between
  /// the first and the last end there; 0 where fewer than two ended. Only after stop().
  [[nodiscard]] double repetitions_per_second(Seconds from, Seconds to) const;

 private:
  void run();

  Enqueue enqueue_;
  int device_ = 0;  ///< Device that is current on the load's thread.
  std::atomic<bool> stop_{false};
  std::exception_ptr error_;
  std::vector<double> ends_;  ///< Ends of repetitions, in seconds of the steady clock, ascending.
  std::thread thread_;  ///< Thread of the load; declared last, since it uses the other members.
};

}  // namespace sluice::profiler
