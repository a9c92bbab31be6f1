#include "sim/boost.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::sim {

LaneRest LaneRest::of_share(double share) const {
  LaneRest rest({rule_.gain * share, 1 + (rule_.most - 1) * share, rule_.window,
                 rule_.lasting_gain * share, rule_.lasting_window});
  rest.set_rest(rest_, lasting_);
  return rest;
}

void LaneRest::idle_for(double time) {
  rest_ = 1 - (1 - rest_) * std::exp(-time / rule_.window);
  if (rule_.lasting_gain > 0)
    lasting_ = 1 - (1 - lasting_) * std::exp(-time / rule_.lasting_window);
}

void LaneRest::run_for(double time) {
  rest_ *= std::exp(-time / rule_.window);
  if (rule_.lasting_gain > 0) lasting_ *= std::exp(-time / rule_.lasting_window);
}

double LaneRest::time_at_most() const {
  if (!(rule_.gain > 0) || rest_ <= enough()) return 0;
  return rule_.most > 1 ? rule_.window * std::log(rest_ / enough()) : 0;
}

double LaneRest::work_in(double time) const {
  const double fast = std::min(time, time_at_most());
  const double left = rule_.gain > 0 ? std::min(rest_, enough()) : 0;
  const double work = rule_.most * fast + (time - fast) -
                      rule_.gain * left * rule_.window * std::expm1(-(time - fast) / rule_.window);
  if (!(rule_.lasting_gain > 0)) return work;
  return work - rule_.lasting_gain * lasting_ * rule_.lasting_window *
                    std::expm1(-time / rule_.lasting_window);
}

double LaneRest::speed_after(double time) const {
  const double rest = rest_ * std::exp(-time / rule_.window);
  return std::min(rule_.most, 1 + rule_.gain * rest) +
         rule_.lasting_gain * lasting_ * std::exp(-time / rule_.lasting_window);
}

double LaneRest::time_for(double work) const {
  constexpr int kMost = 60;
  if (rule_.lasting_gain > 0) {
    // work_in is concave: Newton's steps from below stay below and rise to the root.
    double x = work / speed_after(0);
    for (int i = 0; i < kMost; ++i) {
      const double next = x + (work - work_in(x)) / speed_after(x);
      if (!(next > x)) break;
      x = next;
    }
    return x;
  }
  const double fast = time_at_most();
  if (work <= rule_.most * fast) return work / rule_.most;
  const double rest = work - rule_.most * fast;
  const double most_gained =
      (rule_.gain > 0 ? rule_.gain * std::min(rest_, enough()) : 0) * rule_.window;
  if (most_gained == 0) return fast + rest;
  // Solves x - most_gained expm1(-x / window) = rest, which is concave, too, by Newton's steps.
  double x = rest / (1 + most_gained / rule_.window);
  for (int i = 0; i < kMost; ++i) {
    const double value = x - most_gained * std::expm1(-x / rule_.window) - rest;
    const double next = x - value / (1 + most_gained / rule_.window * std::exp(-x / rule_.window));
    if (!(next > x)) break;
    x = next;
  }
  return fast + x;
}

}  // namespace sluice::sim
