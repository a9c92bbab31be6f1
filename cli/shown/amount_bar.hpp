// A bar for work that is counted in something: bytes read, elements written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "sim/units.hpp"

namespace sluice::cli {

/// A bar on stderr where that is a terminal; elsewhere a line now and then, and none where the work
/// is done before the first.
class AmountBar {
 public:
  /// `what` is being done ("loading weights"). Time counts from here.
  explicit AmountBar(std::string what, Seconds line_every = Seconds(10));
  /// Leaves the bar's line.
  ~AmountBar();
  AmountBar(const AmountBar&) = delete;  // One line of the terminal.
  AmountBar& operator=(const AmountBar&) = delete;

  /// From any thread.
  void show(std::int64_t done, std::int64_t all);

 private:
  using Clock = std::chrono::steady_clock;
  void draw(std::int64_t done, std::int64_t all, Seconds elapsed);

  std::string what_;
  Seconds line_every_, said_{0};  ///< Since the beginning, the last line.
  Clock::time_point begin_ = Clock::now();
  bool terminal_;
  std::mutex mutex_;
  int drawn_ = -1;  ///< Percent.
};

/// A bar that leaves its line when the function goes.
[[nodiscard]] std::function<void(std::int64_t done, std::int64_t all)> amount_shown(
    const std::string& what);

}  // namespace sluice::cli
