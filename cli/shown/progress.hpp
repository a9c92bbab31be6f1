// What `sluice train` shows while it runs.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/records/metrics.hpp"
#include "sim/units.hpp"

namespace sluice::cli {

/// A bar on stderr where that is a terminal; elsewhere about twenty lines on stdout, or nothing.
/// Nothing is allocated between steps.
class Progress {
 public:
  enum class Where { terminal, lines, nowhere };
  /// The terminal where stderr is one, else `otherwise`. `done` steps of `steps` are behind.
  Progress(std::int64_t done, std::int64_t steps, Where otherwise);

  void step(const engine::StepMetrics& metrics);
  void validation(std::int64_t step, double loss);
  /// Leaves the line of the bar, for something else to be said.
  void finish() const;

 private:
  void draw(const engine::StepMetrics& metrics) const;

  std::int64_t first_, steps_;
  Where where_;
  std::optional<double> validation_;
  Seconds smooth_step_{0};  ///< Of the steps so far, later ones counting more.
};

}  // namespace sluice::cli
