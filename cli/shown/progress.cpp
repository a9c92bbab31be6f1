#include "cli/shown/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>

namespace sluice::cli {
namespace {

constexpr std::int64_t kLines = 20;
constexpr std::int64_t kBar = 24;

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
  const double rate = static_cast<double>(metrics.useful_tokens) / metrics.step_time.count();
  char validation[32] = "";
  if (validation_) std::snprintf(validation, sizeof validation, " (val %.4f)", *validation_);
  char left[32] = "";
  if (metrics.step < steps_) {
    const double seconds = smooth_step_.count() * static_cast<double>(steps_ - metrics.step);
    write_time(left, sizeof left, seconds);
  }
  char text[256];
  std::snprintf(text, sizeof text,
                "step %*" PRId64 "/%" PRId64
                "  loss %.4f%s  %.0f tokens/s  step %.3f s "
                "(predicted %.3f s)%s%s",
                static_cast<int>(std::snprintf(nullptr, 0, "%" PRId64, steps_)), metrics.step,
                steps_, metrics.loss, validation, rate, metrics.step_time.count(),
                metrics.predicted.count(), left[0] != '\0' ? "  left " : "", left);
  if (where_ == Where::lines) {
    std::printf("%s\n", text);
    std::fflush(stdout);
    return;
  }
  char bar[kBar + 1] = {};
  for (std::int64_t i = 0; i < kBar; ++i) bar[i] = i * steps_ < metrics.step * kBar ? '#' : '.';
  std::fprintf(stderr, "\r[%s] %s\x1b[K", bar, text);
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
