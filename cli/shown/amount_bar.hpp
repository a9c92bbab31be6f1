// Progress bar for work that is counted, such as bytes read or elements written.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "sim/units.hpp"

namespace sluice::cli {

/// A bar on stderr if that is a terminal. Elsewhere a line from time to time, and none if the work
/// is done before the first is due.
class AmountBar {
 public:
  /// `what` names the work ("loading weights"). Its time starts here.
  explicit AmountBar(std::string what, Seconds line_every = Seconds(10));
  /// Ends the bar's line.
  ~AmountBar();
  AmountBar(const AmountBar&) = delete;  // A terminal has one current line.
  AmountBar& operator=(const AmountBar&) = delete;

  /// Updates the bar; may be called from any thread.
  void show(std::int64_t done, std::int64_t all);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(std::int64_t done, std::int64_t all, Seconds elapsed);

  std::string what_;
  /// Time from line to line, and time of the last line since the beginning.
  Seconds line_every_, said_{0};
  Clock::time_point begin_ = Clock::now();
  bool terminal_;
  std::mutex mutex_;
  int drawn_ = -1;  ///< Percentage last drawn.
};

}  // namespace sluice::cli
