// Progress display of `sluice train`.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/run_folders/metrics.hpp"
#include "sim/units.hpp"

namespace sluice::cli {

/// A bar on stderr if that is a terminal, no wider than it; elsewhere about twenty lines on stdout,
/// or nothing. Nothing is allocated between steps.
class Progress {
 public:
  enum class Where { terminal, lines, nowhere };
  /// Shows progress on the terminal if stderr is one, else as `otherwise` says. `done` of the run's
  /// `steps` steps were done before it continued.
  Progress(std::int64_t done, std::int64_t steps, Where otherwise);

  void step(const engine::StepMetrics& metrics);
  void validation(std::int64_t step, double loss);
  /// Ends the line that the bar stands on, so that something else can be printed.
  void finish() const;

 private:
  /// Parts of the line that shows a step, each as zero-terminated text in an array of its own;
  /// longer text is cut off.
  struct Words {
    char step[96] = "", rate[64] = "", time[32] = "", predicted[48] = "", left[48] = "";
  };

  void draw(const engine::StepMetrics& metrics) const;
  void write(Words& words, const engine::StepMetrics& metrics) const;

  std::int64_t first_, steps_;
  Where where_;
  std::optional<double> validation_;
  Seconds smooth_step_{0};  ///< Moving average of the step time, in which later steps count more.
};

}  // namespace sluice::cli
