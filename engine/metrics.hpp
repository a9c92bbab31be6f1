// metrics.jsonl: a line a step.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/line_file.hpp"
#include "sim/units.hpp"

namespace sluice::engine {

/// What one step came to.
struct StepMetrics {
  std::int64_t step = 0;  ///< From 1.
  double loss = 0;        ///< Mean cross-entropy of the step's targets, nats.
  double grad_norm = 0;   ///< Global, before clipping.
  double lr = 0;
  Seconds step_time{
      0};  ///< From the last step's `grads` to this one's (of step 1: from the start).
  Seconds predicted{0};
  std::int64_t tokens = 0;
  std::int64_t useful_tokens = 0;  ///< Without padding; text that only is read counts.
  std::int64_t target_tokens = 0;  ///< That the loss is the mean of.
};

/// Fields: step, loss, loss_bits, grad_norm, grad_norm_bits (the double's 16 hex digits), lr,
/// step_s, predicted_s, tokens, useful_tokens, target_tokens.
class MetricsFile {
 public:
  explicit MetricsFile(const std::filesystem::path& file) : file_(file, LineFile::Open::create) {}
  /// Goes on with a run's file behind the line of step `last`; later lines, and one that was cut
  /// short, go. A pipe or device is only written to.
  MetricsFile(const std::filesystem::path& file, std::int64_t last);
  /// Does not allocate. Throws EnvironmentError where the disk refuses; earlier lines stay.
  void append(const StepMetrics& metrics);
  void flush() { file_.flush(); }

 private:
  LineFile file_;
};

}  // namespace sluice::engine
