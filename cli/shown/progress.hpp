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
  /// Uses the terminal if stderr is one, else `otherwise`. `done` of `steps` steps were done
  /// before.
  Progress(std::int64_t done, std::int64_t steps, Where otherwise);

  void step(const engine::StepMetrics& metrics);
  void validation(std::int64_t step, double loss);
  /// Ends the bar's line, so that something else can be printed.
  void finish() const;

 private:
  /// Parts of a line, in fixed memory.
  struct Words {
    char step[96] = "", rate[64] = "", time[32] = "", predicted[48] = "", left[48] = "";
  };

  void draw(const engine::StepMetrics& metrics) const;
  void write(Words& words, const engine::StepMetrics& metrics) const;

  std::int64_t first_, steps_;
  Where where_;
  std::optional<double> validation_;
  Seconds smooth_step_{0};  ///< Smoothed step time, in which later steps count more.
};

}  // namespace sluice::cli
