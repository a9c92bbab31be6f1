// The learning rate of every step of a run.
#pragma once

#include <cstdint>

namespace sluice::planner {

/// Learning rate over a run: linear warm-up from lr / warmup_steps, then constant, or down to
/// `final_fraction` of lr at the last step along a line or half a cosine; `wsd` (warm-up, stable,
/// decay: arXiv 2404.06395) goes down in its last steps only; `inverse_sqrt` goes down as the
/// square root of the steps goes up, for however many steps.
struct Schedule {
  enum class Kind { constant, linear, cosine, wsd, inverse_sqrt } kind = Kind::constant;
  /// How the rate goes down in wsd's decay.
  enum class Shape {
    linear,  ///< Along a line.
    cosine,
    sqrt,  ///< 1 - sqrt(share of the decay that is done): arXiv 2405.18392.
  };
  std::int64_t warmup_steps = 0;
  double final_fraction = 0;
  /// Length of the warm-up as a share of the run's steps, rounded up; used where warmup_steps is 0.
  double warmup_fraction = 0;
  /// Length of wsd's decay in steps; 0 for decay_fraction of the run's steps, rounded up.
  std::int64_t decay_steps = 0;
  double decay_fraction = 0.1;  ///< Length of wsd's decay as a share of the run's steps.
  Shape decay_shape = Shape::linear;
  /// Exponent of `linear`: the rate falls as left^power, where `left` is the share of the decay
  /// that is left.
  double power = 1;
  /// How often `cosine` goes down, each time from the full rate.
  std::int64_t cycles = 1;
  /// The s of `inverse_sqrt`, in steps: after the warm-up the rate is lr / sqrt((step + s -
  /// warm-up) / s). 0 stands for the steps of the warm-up, or 10,000 without one.
  std::int64_t timescale = 0;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// Learning rate at `step`, counted from 1, of a run of `steps` steps whose full rate is `lr`.
[[nodiscard]] double learning_rate(const Schedule& schedule, double lr, std::int64_t step,
                                   std::int64_t steps);

const char* to_string(Schedule::Kind kind);
const char* to_string(Schedule::Shape shape);

}  // namespace sluice::planner
