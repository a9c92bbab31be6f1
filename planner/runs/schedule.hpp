// The learning rate of every step of a run.
#pragma once

#include <cstdint>

namespace sluice::planner {

/// Learning rate over a run: linear warm-up from lr / warmup_steps, then constant, or down to
/// `final_fraction` of lr at the last step along a line or half a cosine; `wsd` (warm-up, stable,
/// decay: arXiv 2404.06395) goes down in its last steps only.
struct Schedule {
  enum class Kind { constant, linear, cosine, wsd } kind = Kind::constant;
  enum class Shape {
    linear,
    cosine,
    sqrt,  ///< 1 - sqrt(share of the decay that is done): arXiv 2405.18392.
  };
  std::int64_t warmup_steps = 0;
  double final_fraction = 0;
  double warmup_fraction = 0;    ///< Of the run's steps, rounded up, where warmup_steps is 0.
  std::int64_t decay_steps = 0;  ///< Of wsd; 0: decay_fraction of the run's steps, rounded up.
  double decay_fraction = 0.1;
  Shape decay_shape = Shape::linear;
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

/// lr of `step`, counted from 1, of a run of `steps`.
[[nodiscard]] double learning_rate(const Schedule& schedule, double lr, std::int64_t step,
                                   std::int64_t steps);

const char* to_string(Schedule::Kind kind);
const char* to_string(Schedule::Shape shape);

}  // namespace sluice::planner
