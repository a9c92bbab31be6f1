// Rows of the relaxation: what crosses the link in each part of a step.
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// What is copied in each part at least.
void PlanRelaxation::add_copies(Rows& all, std::int64_t rounds, Bytes reserve) const {
  const Job& job = predictor_->job();
  const auto row = [&all](Limit limit) -> Row& { return all[row_index(limit)]; };
  const auto put = [&row](Limit limit, Use use, double weight) {
    row(limit).weights[static_cast<std::size_t>(use)] += weight;
  };
  const double down = 1 / h2d_rate_, up = 1 / d2h_rate_;
  const auto times = static_cast<double>(rounds);
  const double at_loss = device_fixed(rounds).at_loss;
  const double hbm = static_cast<double>((predictor_->machine().hbm - reserve).count());
  // What the device cannot hold when a loss begins, as time of a link. Staged state that has its
  // own memory has it beside all that several rounds use, and what takes the place of records is
  // stored before them: so of several rounds the first loss leaves no more room than the others.
  const auto not_held = [&](Limit limit, double rate) {
    for (const Use use : {Use::records, Use::resident, Use::scratch, Use::loss_slots}) {
      put(limit, use, rate);
    }
    put(limit, Use::summed, rate);
    if (rounds > 1) row(limit).slots += rate;
    row(limit).constant += (at_loss - hbm) * rate;
  };
  put(Limit::first_stores, rounds > 1 ? Use::early_staged : Use::staged, up);
  not_held(Limit::first_stores, up);
  for (const Limit limit : {Limit::first_stores, Limit::late_stores}) {
    put(limit, Use::late_gradients, up);
  }
  // The share of the ring is part of what streams.
  const double streams = down * (1 - 1 / static_cast<double>(job.model.layers));
  if (job.optimizer.clip) {
    put(Limit::refresh, Use::refresh, down);
  } else {
    put(Limit::refresh, Use::streamed, streams);
  }
  for (const Limit limit : {Limit::first_loads, Limit::later_loads, Limit::last_loads}) {
    not_held(limit, down);
    put(limit, Use::streamed, streams);
  }
  if (rounds > 1) {
    put(Limit::later_streams, Use::streamed, streams);
    not_held(Limit::later_stores, up);
    put(Limit::later_loads, Use::reloads, down / (times - 1));
    put(Limit::last_loads, Use::reloads, down / (times - 1));
    put(Limit::last_loads, Use::early_staged, down);
    // At the end of a backward pass only slots hold gradients that have not left.
    const double wire = static_cast<double>(job.gradient_wire_element().count()) /
                        static_cast<double>(job.gradient_element().count());
    for (const Limit limit :
         {Limit::first_gradients, Limit::later_gradients, Limit::last_gradients}) {
      const double rate = up * (limit == Limit::last_gradients ? wire : 1);
      put(limit, Use::streamed_gradients, rate);
      row(limit).slots = -rate;
    }
  } else {
    put(Limit::first_loads, Use::staged, down);
  }
  if (rounds > 1 && !job.optimizer.clip) {
    for (const Limit limit : {Limit::turn_loads, Limit::turn_fetches}) {
      put(limit, Use::refresh, down);
      put(limit, Use::streamed, streams);
      put(limit, Use::reloads, down / (times - 1));
    }
    put(Limit::turn_fetches, Use::early_staged, down);
    not_held(Limit::turn_fetches, down);
    for (const Limit limit : {Limit::turn_stores, Limit::turn_saves}) {
      put(limit, Use::update, up * static_cast<double>(job.gradient_wire_element().count()));
    }
    put(Limit::turn_saves, Use::early_staged, up);
    not_held(Limit::turn_saves, up);
  }
  put(Limit::all_loads, Use::h2d, down);
  put(Limit::all_stores, Use::d2h, up);
}

}  // namespace sluice::planner
