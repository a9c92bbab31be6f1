// Times asynchronous calls that all ranks make together.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <functional>

#include "board.hpp"

namespace sluice::several_gpus {

/// A time a call, and what the loads did meanwhile.
struct Measured {
  double seconds = 0;
  Rates rates{};
};

class Stopwatch {
 public:
  /// The stream must outlive the stopwatch.
  Stopwatch(const Rank& rank, cudaStream_t stream);
  Stopwatch(const Stopwatch&) = delete;  // Events are never copied; they end with the process.

  /// Seconds a call took on the slowest rank, over `calls` calls of `enqueue` on the stream. Every
  /// rank calls it with the same number. At most kAhead calls are in flight, so that no launch
  /// queue fills up.
  Measured calls(int calls, const std::function<void()>& enqueue);
  /// Measures for about `window` seconds after warming up; all ranks agree on the number of calls.
  Measured over(double window, const std::function<void()>& enqueue);

 private:
  static constexpr int kAhead = 8;
  const Rank& rank_;
  cudaStream_t stream_;
  cudaEvent_t start_{}, stop_{};
  std::array<cudaEvent_t, kAhead> ring_{};
};

/// Starts exactly these loads and waits until they run evenly; every rank calls it.
void start_loads(const Rank& rank, unsigned loads);
/// The loads' rates over `window` seconds with nothing beside them; every rank calls it, the first
/// has the answer.
Rates rates_alone(const Rank& rank, double window);

}  // namespace sluice::several_gpus
