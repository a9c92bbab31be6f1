#include "planner/runs/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sluice::planner {
namespace {

/// A share of the run's steps, rounded up as transformers does.
std::int64_t share_of(double fraction, std::int64_t steps) {
  return static_cast<std::int64_t>(std::ceil(fraction * static_cast<double>(steps)));
}

std::int64_t warmup_of(const Schedule& schedule, std::int64_t steps) {
  return schedule.warmup_steps > 0 ? schedule.warmup_steps
                                   : share_of(schedule.warmup_fraction, steps);
}

std::int64_t decay_of(const Schedule& schedule, std::int64_t steps, std::int64_t warmup) {
  const std::int64_t asked =
      schedule.decay_steps > 0 ? schedule.decay_steps : share_of(schedule.decay_fraction, steps);
  return std::min(asked, steps - warmup);
}

/// Of the rate's way down, once `done` of it is behind.
double left_of(const Schedule& schedule, double done) {
  using Kind = Schedule::Kind;
  using Shape = Schedule::Shape;
  const bool wsd = schedule.kind == Kind::wsd;
  if (schedule.kind == Kind::linear || (wsd && schedule.decay_shape == Shape::linear)) {
    return 1 - done;
  }
  if (wsd && schedule.decay_shape == Shape::sqrt) return 1 - std::sqrt(done);
  return 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace

double learning_rate(const Schedule& schedule, double lr, std::int64_t step, std::int64_t steps) {
  const std::int64_t warmup = std::min(warmup_of(schedule, steps), steps);
  if (step <= warmup) return lr * static_cast<double>(step) / static_cast<double>(warmup);
  if (schedule.kind == Schedule::Kind::constant) return lr;
  const bool wsd = schedule.kind == Schedule::Kind::wsd;
  const std::int64_t decaying = wsd ? decay_of(schedule, steps, warmup) : steps - warmup;
  const std::int64_t past = step - (steps - decaying);
  if (past <= 0) return lr;
  const double done = std::min(1.0, static_cast<double>(past) / static_cast<double>(decaying));
  return lr * (schedule.final_fraction + (1 - schedule.final_fraction) * left_of(schedule, done));
}

const char* to_string(Schedule::Kind kind) {
  switch (kind) {
    case Schedule::Kind::constant:
      return "constant";
    case Schedule::Kind::linear:
      return "linear";
    case Schedule::Kind::cosine:
      return "cosine";
    case Schedule::Kind::wsd:
      return "wsd";
  }
  return "";
}

const char* to_string(Schedule::Shape shape) {
  switch (shape) {
    case Schedule::Shape::linear:
      return "linear";
    case Schedule::Shape::cosine:
      return "cosine";
    case Schedule::Shape::sqrt:
      return "sqrt";
  }
  return "";
}

}  // namespace sluice::planner
