// Constraints of copies: what crosses the link in each part of a step, at least.
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// Constraints of the seconds down_p and up_p of copies in each part.
void PlanRelaxation::add_copies(Constraints& all, std::int64_t rounds, Bytes reserve) const {
  const Job& job = predictor_->part();
  const auto constraint = [&all](Limit limit) -> Constraint& {
    return all[constraint_index(limit)];
  };
  const auto put = [&constraint](Limit limit, Use use, double weight) {
    constraint(limit).weights[static_cast<std::size_t>(use)] += weight;
  };
  const double down = 1 / h2d_rate_, up = 1 / d2h_rate_;
  const auto times = static_cast<double>(rounds);
  const double at_loss = device_fixed(rounds).at_loss;
  const double hbm = static_cast<double>((predictor_->machine().hbm - reserve).count());
  // over = records + resident + scratch + loss_slots + summed + [r > 1] s + fixed - V: what the
  // device cannot hold when a loss begins, of any round. State is added to it: a byte of state
  // either takes a record's place or a ring's slot for a while, and is then copied in that part; or
  // it has device memory of its own, and then one byte more of records leaves before the loss and
  // comes back after it.
  const auto not_held = [&](Limit limit, double rate) {
    for (const Use use : {Use::records, Use::resident, Use::scratch, Use::loss_slots}) {
      put(limit, use, rate);
    }
    put(limit, Use::summed, rate);
    if (rounds > 1) constraint(limit).slots += rate;
    constraint(limit).constant += (at_loss - hbm) * rate;
  };
  // ([r = 1] (staged + rotated) + [r > 1] early_staged + late_gradients + over)/D <= up_F
  // late_gradients/D <= up_F
  put(Limit::first_stores, rounds > 1 ? Use::early_staged : Use::staged, up);
  if (rounds == 1) put(Limit::first_stores, Use::rotated, up);
  not_held(Limit::first_stores, up);
  for (const Limit limit : {Limit::first_stores, Limit::late_stores}) {
    put(limit, Use::late_gradients, up);
  }
  // refresh/H <= down_F with clipping, z streamed/H <= down_F without: z of what streams, for a
  // ring's slot still holds its share.
  const double streams = down * (1 - 1 / static_cast<double>(job.model.layers));
  if (job.optimizer.clip) {
    put(Limit::refresh, Use::refresh, down);
  } else {
    put(Limit::refresh, Use::streamed, streams);
  }
  // first_loads: (over + z streamed + [r = 1] (staged + rotated_backward))/H <= down_B
  // later_loads: (over + z streamed + reloads/(r - 1))/H <= down_B'
  // last_loads:  (over + z streamed + reloads/(r - 1) + early_staged + rotated_backward)/H <=
  // down_E, for what the last backward pass updates is there at its loss or comes behind it.
  for (const Limit limit : {Limit::first_loads, Limit::later_loads, Limit::last_loads}) {
    not_held(limit, down);
    put(limit, Use::streamed, streams);
  }
  if (rounds > 1) {
    // z streamed/H <= down_F'; over/D <= up_F'
    put(Limit::later_streams, Use::streamed, streams);
    not_held(Limit::later_stores, up);
    put(Limit::later_loads, Use::reloads, down / (times - 1));
    put(Limit::last_loads, Use::reloads, down / (times - 1));
    put(Limit::last_loads, Use::early_staged, down);
    put(Limit::last_loads, Use::rotated_backward, down);
    // (streamed_gradients - s)/D <= up_B, up_B'; wire (leaving_gradients - s)/D <= up_E: at the
    // end of a backward pass only slots hold gradients that have not left.
    const double wire = static_cast<double>(job.gradient_wire_element().count()) /
                        static_cast<double>(job.gradient_element().count());
    for (const Limit limit :
         {Limit::first_gradients, Limit::later_gradients, Limit::last_gradients}) {
      const bool last = limit == Limit::last_gradients;
      const double rate = up * (last ? wire : 1);
      put(limit, last ? Use::leaving_gradients : Use::streamed_gradients, rate);
      constraint(limit).slots = -rate;
    }
  } else {
    put(Limit::first_loads, Use::staged, down);
    put(Limit::first_loads, Use::rotated_backward, down);
  }
  if (rounds > 1 && !job.optimizer.clip) {
    // loads:   (refresh + z streamed + reloads/(r - 1))/H <= down_E + down_F
    // fetches: (refresh + z streamed + reloads/(r - 1) + early_staged + over)/H <= down_E + down_F
    for (const Limit limit : {Limit::update_span_loads, Limit::update_span_fetches}) {
      put(limit, Use::refresh, down);
      put(limit, Use::streamed, streams);
      put(limit, Use::reloads, down / (times - 1));
    }
    put(Limit::update_span_fetches, Use::early_staged, down);
    not_held(Limit::update_span_fetches, down);
    // stores: (wire bytes of update)/D <= up_E + up_F
    // saves:  (wire bytes of update + early_staged + over)/D <= up_E + up_F
    for (const Limit limit : {Limit::update_span_stores, Limit::update_span_saves}) {
      put(limit, Use::update, up * static_cast<double>(job.gradient_wire_element().count()));
    }
    put(Limit::update_span_saves, Use::early_staged, up);
    not_held(Limit::update_span_saves, up);
  }
  // h2d/H <= sum_p n_p down_p; d2h/D <= sum_p n_p up_p
  put(Limit::all_loads, Use::h2d, down);
  put(Limit::all_stores, Use::d2h, up);
}

}  // namespace sluice::planner
