// A bar for work that is counted in something: bytes read, elements written.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace sluice::cli {

/// A bar on stderr where that is a terminal, else nothing.
class AmountBar {
 public:
  /// `what` is being done ("loading weights").
  explicit AmountBar(std::string what);
  /// Leaves the bar's line.
  ~AmountBar();
  AmountBar(const AmountBar&) = delete;  // One line of the terminal.
  AmountBar& operator=(const AmountBar&) = delete;

  /// From any thread.
  void show(std::int64_t done, std::int64_t all);

 private:
  std::string what_;
  bool terminal_;
  std::mutex mutex_;
  int drawn_ = -1;  ///< Percent.
};

}  // namespace sluice::cli
