// Boost of lanes that rested, in the event loop (sim/boost.hpp).
#include "sim/simulation.hpp"

namespace sluice::sim {

/// Updates a lane's rest to the current time, given whether it `ran` since the last update.
void Simulation::bring_rest_up_to_now(std::uint32_t lane, bool ran) {
  if (rests_.empty() || !rests_[lane]) return;
  RestState& state = *rests_[lane];
  const double passed =
      static_cast<double>(now_ - state.since) + (fraction_ - state.since_fraction);
  if (ran) {
    state.rest.run_for(passed);
  } else {
    state.rest.idle_for(passed);
  }
  state.since = now_;
  state.since_fraction = fraction_;
}

/// Work done in the `passed` nanoseconds since the lane's last update, at a rate of 1.
double Simulation::progress(std::uint32_t lane, double passed) const {
  const double share = graph_.task(lanes_[lane].task).boosts;
  return share > 0 ? rests_[lane]->rest.of_share(share).work_in(passed) : passed;
}

/// Nanoseconds from now until the lane's task ends, at its current rate.
double Simulation::time_left(std::uint32_t lane) const {
  const LaneState& state = lanes_[lane];
  const double work = state.remaining / state.rate;
  const double share = graph_.task(state.task).boosts;
  return share > 0 ? rests_[lane]->rest.of_share(share).time_for(work) : work;
}

}  // namespace sluice::sim
