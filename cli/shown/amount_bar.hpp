// Progress bar for work that is counted, such as bytes read or elements written.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "sim/units.hpp"

namespace sluice::cli {

/// Bar on stderr if that is a terminal. Elsewhere a line every `line_every`, and none if the work
/// is done before the first is due. Where progress is streamed (progress_stream.hpp) it goes there
/// instead, a line each percent.
class AmountBar {
 public:
  /// Starts the clock of the work that `what` names ("loading weights"); nothing is shown yet.
  explicit AmountBar(std::string what, Seconds line_every = Seconds(10));
  /// Ends the bar's line on the terminal.
  ~AmountBar();
  AmountBar(const AmountBar&) = delete;  // A terminal has one current line.
  AmountBar& operator=(const AmountBar&) = delete;

  /// Shows that `done` of `all` units of the work are done; may be called from any thread.
  void show(std::int64_t done, std::int64_t all);

 private:
  using Clock = std::chrono::steady_clock;
  /// Whether a percent more is done than at the last call that said so.
  bool advances(std::int64_t done, std::int64_t all);
  void stream(std::int64_t done, std::int64_t all);
  void draw(std::int64_t done, std::int64_t all, Seconds elapsed);

  std::string what_;
  /// Time from line to line, and time from the beginning to the last line.
  Seconds line_every_, said_{0};
  Clock::time_point begin_ = Clock::now();
  bool terminal_, streamed_;
  std::mutex mutex_;
  int drawn_ = -1;  ///< Percentage that was shown last; -1 before the first.
};

/// Function that shows progress on an AmountBar for `what`. The bar ends its line when the function
/// is destroyed.
[[nodiscard]] std::function<void(std::int64_t done, std::int64_t all)> amount_shown(
    const std::string& what);

}  // namespace sluice::cli
