// Boost of lanes that rested, in the event loop (sim/boost.hpp).
#include "sim/simulation.hpp"

namespace sluice::sim {

/// Updates a lane's rest to the current time, given whether it `ran` since the last update.
void Simulation::update_rest(RestState& state, bool ran) const {
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

double Simulation::boosted_progress(std::uint32_t lane, double passed) const {
  return rests_[lane]->rest.of_share(lanes_[lane].boosts).work_in(passed);
}

double Simulation::boosted_time_for(std::uint32_t lane, double work) const {
  return rests_[lane]->rest.of_share(lanes_[lane].boosts).time_for(work);
}

}  // namespace sluice::sim
