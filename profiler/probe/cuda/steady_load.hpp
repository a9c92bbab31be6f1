// Device work that goes on and on beside whatever else is measured.
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

/// Enqueues the same work on a stream of its own until stopped, always a few turns ahead of the
/// device, from a thread that sleeps while it waits.
class SteadyLoad {
 public:
  /// Called on the load's thread with the number of the turn, from 0. What it enqueues must stay
  /// valid until the load has stopped.
  using Enqueue = std::function<void(cudaStream_t stream, std::int64_t turn)>;

  [[nodiscard]] explicit SteadyLoad(Enqueue enqueue);
  ~SteadyLoad();                           ///< Stops; an error of the load is then lost.
  SteadyLoad(const SteadyLoad&) = delete;  // Its thread holds `this`.
  SteadyLoad& operator=(const SteadyLoad&) = delete;

  /// Waits until all that was enqueued has ended. Throws what the load threw.
  void stop();

  /// Turns a second that ended within [from, to] of the steady clock (Timer::wall), by the first
  /// and the last end there. Only after stop(). 0 where fewer than two ended.
  [[nodiscard]] double turns_per_second(Seconds from, Seconds to) const;

 private:
  void run();

  Enqueue enqueue_;
  std::atomic<bool> stop_{false};
  std::exception_ptr error_;
  std::vector<double> ends_;  ///< Seconds of the steady clock.
  std::thread thread_;        ///< Last: it uses the rest.
};

}  // namespace sluice::profiler
