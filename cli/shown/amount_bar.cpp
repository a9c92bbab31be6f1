#include "cli/shown/amount_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/shown/progress_stream.hpp"
#include "cli/shown/terminal_width.hpp"
#include "sim/units_text.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {
namespace {

constexpr int kBarWidth = 24;
constexpr int kLeastBar = 4;  ///< A shorter bar says nothing.

/// Text of the bar: "loading weights 34 %, 1.20 min left".
std::string amount_text(const std::string& what, std::int64_t done, std::int64_t all,
                        Seconds elapsed) {
  const double share = static_cast<double>(std::min(done, all)) / static_cast<double>(all);
  std::string text = what + " " + std::to_string(static_cast<int>(100 * share)) + " %";
  // The first moments say nothing about the time left.
  if (done <= 0 || done >= all || elapsed < Seconds(1)) return text;
  return text + ", " + planner::format_seconds(elapsed * ((1 - share) / share)) + " left";
}

}  // namespace

AmountBar::AmountBar(std::string what, Seconds line_every)
    : what_(std::move(what)),
      line_every_(line_every),
      terminal_(isatty(STDERR_FILENO) != 0),
      streamed_(streams_progress()) {}

AmountBar::~AmountBar() {
  if (terminal_ && !streamed_ && drawn_ >= 0) std::fputc('\n', stderr);
}

void AmountBar::show(std::int64_t done, std::int64_t all) {
  if (all <= 0) return;
  const std::lock_guard lock(mutex_);
  const Seconds elapsed = Clock::now() - begin_;
  if (streamed_) {
    stream(done, all);
  } else if (terminal_) {
    draw(done, all, elapsed);
  } else if (elapsed - said_ >= line_every_ && done < all) {
    said_ = elapsed;
    sim::tell(amount_text(what_, done, all, elapsed));
  }
}

bool AmountBar::advances(std::int64_t done, std::int64_t all) {
  const int percent = static_cast<int>(100 * static_cast<double>(done) / static_cast<double>(all));
  if (percent <= drawn_) return false;
  drawn_ = percent;
  return true;
}

void AmountBar::stream(std::int64_t done, std::int64_t all) {
  if (advances(done, all)) stream_progress(what_, done, all, nullptr);
}

void AmountBar::draw(std::int64_t done, std::int64_t all, Seconds elapsed) {
  if (!advances(done, all)) return;
  const int percent = drawn_;
  const std::string text = amount_text(what_, done, all, elapsed);
  const int room =
      terminal_width() - static_cast<int>(text.size()) - 4;  // Brackets, a space, an end.
  const int width = std::min(kBarWidth, room);
  std::string bar;
  for (int i = 0; i < width; ++i) bar += i * 100 < percent * width ? '#' : '.';
  show_in_place(width < kLeastBar ? text : "[" + bar + "] " + text);
}

std::function<void(std::int64_t, std::int64_t)> amount_shown(const std::string& what) {
  return [bar = std::make_shared<AmountBar>(what)](std::int64_t done, std::int64_t all) {
    bar->show(done, all);
  };
}

}  // namespace sluice::cli
