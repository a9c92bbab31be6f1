// End times of copies on a link with a given rate; without clocks or threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "sim/units.hpp"

namespace sluice::engine {

/// Times at which the copies over a link of a given rate are due to end, one part of a copy after
/// another. Each part is due bytes / rate after the one before, so a late wake-up for one part does
/// not shift the next, and parts are never due closer to each other.
class LinkSchedule {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  using Time = Instant::duration;

  explicit LinkSchedule(BytesPerSecond rate) : rate_(rate) {}

  /// Makes the next part of a copy begin at `start` or later.
  void begin(Instant start) { due_ = std::max(due_, start); }
  /// Adds a part of a copy, of `bytes`, and returns when it is due to end.
  [[nodiscard]] Instant end_of(Bytes bytes) {
    const std::chrono::duration<double, Time::period> exact = bytes / rate_;
    return due_ += Time(static_cast<Time::rep>(std::ceil(exact.count())));
  }

 private:
  BytesPerSecond rate_;
  Instant due_ = Instant::min();  ///< Time at which the last part added so far is due to end.
};

}  // namespace sluice::engine
