#include "sim/boost.hpp"

#include <algorithm>
#include <cmath>

namespace sluice::sim {

LaneRest LaneRest::of_share(double share) const {
  LaneRest rest(gain_ * share, 1 + (most_ - 1) * share, window_);
  rest.rest_ = rest_;
  return rest;
}

void LaneRest::idle_for(double time) { rest_ = 1 - (1 - rest_) * std::exp(-time / window_); }

void LaneRest::run_for(double time) { rest_ *= std::exp(-time / window_); }

double LaneRest::time_at_most() const {
  if (!(gain_ > 0) || rest_ <= enough()) return 0;
  return most_ > 1 ? window_ * std::log(rest_ / enough()) : 0;
}

double LaneRest::work_in(double time) const {
  const double fast = std::min(time, time_at_most());
  const double left = gain_ > 0 ? std::min(rest_, enough()) : 0;
  return most_ * fast + (time - fast) -
         gain_ * left * window_ * std::expm1(-(time - fast) / window_);
}

double LaneRest::time_for(double work) const {
  const double fast = time_at_most();
  if (work <= most_ * fast) return work / most_;
  const double rest = work - most_ * fast;
  const double most_gained = (gain_ > 0 ? gain_ * std::min(rest_, enough()) : 0) * window_;
  if (most_gained == 0) return fast + rest;
  // x - most_gained expm1(-x / window) = rest: concave, so that Newton's steps from below stay
  // below and rise to the root.
  double x = rest / (1 + most_gained / window_);
  constexpr int kMost = 60;
  for (int i = 0; i < kMost; ++i) {
    const double value = x - most_gained * std::expm1(-x / window_) - rest;
    const double next = x - value / (1 + most_gained / window_ * std::exp(-x / window_));
    if (!(next > x)) break;
    x = next;
  }
  return fast + x;
}

}  // namespace sluice::sim
