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

/// Share of the rate's decay that is left once `done` of it is over.
double left_of(const Schedule& schedule, double done) {
  using Kind = Schedule::Kind;
  using Shape = Schedule::Shape;
  const bool wsd = schedule.kind == Kind::wsd;
  if (schedule.kind == Kind::linear && schedule.power != 1) {
    return std::pow(1 - done, schedule.power);
  }
  if (schedule.kind == Kind::linear || (wsd && schedule.decay_shape == Shape::linear)) {
    return 1 - done;
  }
  if (wsd && schedule.decay_shape == Shape::sqrt) return 1 - std::sqrt(done);
  if (schedule.kind == Kind::cosine && schedule.cycles > 1 && done < 1) {
    done = std::fmod(static_cast<double>(schedule.cycles) * done, 1.0);
  }
  return 0.5 * (1 + std::cos(std::numbers::pi * done));
}

double inverse_sqrt(const Schedule& schedule, std::int64_t step, std::int64_t warmup) {
  constexpr std::int64_t kUsual = 10'000;
  const std::int64_t usual = warmup > 0 ? warmup : kUsual;
  const std::int64_t scale = schedule.timescale > 0 ? schedule.timescale : usual;
  return 1 / std::sqrt(static_cast<double>(step + scale - warmup) / static_cast<double>(scale));
}

}  // namespace

double learning_rate(const Schedule& schedule, double lr, std::int64_t step, std::int64_t steps) {
  const std::int64_t warmup = std::min(warmup_of(schedule, steps), steps);
  if (step <= warmup) return lr * static_cast<double>(step) / static_cast<double>(warmup);
  if (schedule.kind == Schedule::Kind::constant) return lr;
  if (schedule.kind == Schedule::Kind::inverse_sqrt) {
    return lr * inverse_sqrt(schedule, step, warmup);
  }
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
    case Schedule::Kind::inverse_sqrt:
      return "inverse_sqrt";
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
