// When the parts of copies are over on a link that is held to a rate: no clock, no threads.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "sim/units.hpp"

namespace sluice::engine {

/// One time line for all copies of a link: each part is due at the end of the one before plus
/// bytes / rate, so that whoever wakes late for one finds the next ones due where they were. Parts
/// are never due any closer to each other.
class LinkSchedule {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  using Time = Instant::duration;

  explicit LinkSchedule(BytesPerSecond rate) : rate_(rate) {}

  /// What comes next does not begin before `start`.
  void begin(Instant start) { due_ = std::max(due_, start); }
  /// When `bytes` more are over.
  [[nodiscard]] Instant end_of(Bytes bytes) {
    const std::chrono::duration<double, Time::period> exact = bytes / rate_;
    return due_ += Time(static_cast<Time::rep>(std::ceil(exact.count())));
  }

 private:
  BytesPerSecond rate_;
  Instant due_ = Instant::min();  ///< End of all so far.
};

}  // namespace sluice::engine
