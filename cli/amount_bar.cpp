#include "cli/amount_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace sluice::cli {

AmountBar::AmountBar(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) != 0) {}

AmountBar::~AmountBar() {
  if (drawn_ >= 0) std::fputc('\n', stderr);
}

void AmountBar::show(std::int64_t done, std::int64_t all) {
  if (!terminal_ || all <= 0) return;
  constexpr int kWidth = 24;
  const int percent = static_cast<int>(100 * static_cast<double>(done) / static_cast<double>(all));
  const std::lock_guard lock(mutex_);
  if (percent <= drawn_) return;
  drawn_ = percent;
  char bar[kWidth + 1] = {};
  for (int i = 0; i < kWidth; ++i) bar[i] = i * 100 < percent * kWidth ? '#' : '.';
  std::fprintf(stderr, "\r[%s] %s %d %%\x1b[K", bar, what_.c_str(), std::min(percent, 100));
}

}  // namespace sluice::cli
