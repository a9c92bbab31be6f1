#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace sluice::cli {
namespace {

constexpr std::int64_t kLines = 20;
constexpr std::int64_t kBar = 24;

}  // namespace

Progress::Progress(std::int64_t steps, Where otherwise)
    : steps_(steps), where_(isatty(STDERR_FILENO) != 0 ? Where::terminal : otherwise) {}

void Progress::step(const engine::StepMetrics& metrics) {
  const std::int64_t every = std::max<std::int64_t>(1, steps_ / kLines);
  if (where_ == Where::lines && metrics.step != 1 && metrics.step != steps_ &&
      metrics.step % every != 0) {
    return;
  }
  if (where_ != Where::nowhere) draw(metrics);
}

void Progress::draw(const engine::StepMetrics& metrics) const {
  const double rate = static_cast<double>(metrics.tokens) / metrics.step_time.count();
  char validation[32] = "";
  if (validation_) std::snprintf(validation, sizeof validation, " (val %.4f)", *validation_);
  char text[192];
  std::snprintf(text, sizeof text,
                "step %*" PRId64 "/%" PRId64
                "  loss %.4f%s  %.0f tokens/s  step %.3f s "
                "(predicted %.3f s)",
                static_cast<int>(std::snprintf(nullptr, 0, "%" PRId64, steps_)), metrics.step,
                steps_, metrics.loss, validation, rate, metrics.step_time.count(),
                metrics.predicted.count());
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

void Progress::finish() {
  if (where_ == Where::terminal) std::fputc('\n', stderr);
}

}  // namespace sluice::cli
