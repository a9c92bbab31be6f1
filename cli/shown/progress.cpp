#include "cli/shown/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "cli/shown/terminal_width.hpp"

namespace sluice::cli {
namespace {

constexpr std::int64_t kLines = 20;
constexpr std::int64_t kBar = 24;
constexpr std::int64_t kShortestBar = 4;  ///< A shorter bar says nothing.
constexpr std::size_t kLongest = 320;

/// Writes a time as text to `out`: "42 s", "3:05 min", "2:03:05 h" or "4 d 02 h".
void write_time(char* out, std::size_t size, double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  const std::int64_t minutes = whole / 60;
  const std::int64_t hours = minutes / 60;
  if (hours >= 48) {
    std::snprintf(out, size, "%" PRId64 " d %02" PRId64 " h", hours / 24, hours % 24);
  } else if (hours > 0) {
    std::snprintf(out, size, "%" PRId64 ":%02" PRId64 ":%02" PRId64 " h", hours, minutes % 60,
                  whole % 60);
  } else if (minutes > 0) {
    std::snprintf(out, size, "%" PRId64 ":%02" PRId64 " min", minutes, whole % 60);
  } else {
    std::snprintf(out, size, "%" PRId64 " s", whole);
  }
}

}  // namespace

Progress::Progress(std::int64_t done, std::int64_t steps, Where otherwise)
    : first_(done + 1),
      steps_(steps),
      where_(isatty(STDERR_FILENO) != 0 ? Where::terminal : otherwise) {}

void Progress::step(const engine::StepMetrics& metrics) {
  constexpr double kWeight = 0.1;
  smooth_step_ = metrics.step == first_
                     ? metrics.step_time
                     : smooth_step_ * (1 - kWeight) + metrics.step_time * kWeight;
  const std::int64_t every = std::max<std::int64_t>(1, steps_ / kLines);
  if (where_ == Where::lines && metrics.step != first_ && metrics.step != steps_ &&
      metrics.step % every != 0) {
    return;
  }
  if (where_ != Where::nowhere) draw(metrics);
}

void Progress::draw(const engine::StepMetrics& metrics) const {
  Words words;
  write(words, metrics);
  if (where_ == Where::lines) {
    std::printf("%s%s%s%s%s\n", words.step, words.rate, words.time, words.predicted, words.left);
    std::fflush(stdout);
    return;
  }
  // What says least goes first where the line does not fit: the last column stays free.
  const int columns = terminal_width() - 1;
  char text[kLongest] = "";
  for (const int kept : {3, 2, 1, 0}) {
    const int length =
        std::snprintf(text, sizeof text, "%s%s%s%s%s", words.step, kept > 1 ? words.rate : "",
                      kept > 0 ? words.time : "", kept > 2 ? words.predicted : "", words.left);
    const auto room = static_cast<std::int64_t>(columns - length - 3);  // Brackets and a space.
    const std::int64_t bar_width = std::min(kBar, room);
    if (bar_width < kShortestBar && kept > 0 && length > columns) continue;
    if (bar_width < kShortestBar) break;
    char bar[kBar + 1] = {};
    for (std::int64_t i = 0; i < bar_width; ++i) {
      bar[i] = i * steps_ < metrics.step * bar_width ? '#' : '.';
    }
    std::fprintf(stderr, "\r[%s] %s\x1b[K", bar, text);
    return;
  }
  std::fprintf(stderr, "\r%.*s\x1b[K", std::max(1, columns), text);
}

void Progress::write(Words& words, const engine::StepMetrics& metrics) const {
  char validation[32] = "";
  if (validation_) std::snprintf(validation, sizeof validation, " (val %.4f)", *validation_);
  char loss[32] = "nothing to learn";
  if (!metrics.skipped) std::snprintf(loss, sizeof loss, "loss %.4f", metrics.loss);
  std::snprintf(words.step, sizeof words.step, "step %*" PRId64 "/%" PRId64 "  %s%s",
                static_cast<int>(std::snprintf(nullptr, 0, "%" PRId64, steps_)), metrics.step,
                steps_, loss, validation);
  const double seconds = metrics.step_time.count();
  const double rate = static_cast<double>(metrics.tokens) / seconds;
  const double useful = static_cast<double>(metrics.useful_tokens) / seconds;
  if (metrics.useful_tokens == metrics.tokens) {
    std::snprintf(words.rate, sizeof words.rate, "  %.0f tokens/s", rate);
  } else {
    std::snprintf(words.rate, sizeof words.rate, "  %.0f tokens/s (%.0f useful)", rate, useful);
  }
  std::snprintf(words.time, sizeof words.time, "  step %.3f s", seconds);
  std::snprintf(words.predicted, sizeof words.predicted, " (predicted %.3f s)",
                metrics.predicted.count());
  if (metrics.step < steps_) {
    char left[32] = "";
    const double rest = smooth_step_.count() * static_cast<double>(steps_ - metrics.step);
    write_time(left, sizeof left, rest);
    std::snprintf(words.left, sizeof words.left, "  left %s", left);
  }
}

void Progress::validation(std::int64_t step, double loss) {
  validation_ = loss;
  if (where_ == Where::lines) {
    std::printf("step %" PRId64 "  validation loss %.4f\n", step, loss);
    std::fflush(stdout);
  }
}

void Progress::finish() const {
  if (where_ == Where::terminal) std::fputc('\n', stderr);
}

}  // namespace sluice::cli
