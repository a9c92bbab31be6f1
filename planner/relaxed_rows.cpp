// Rows of the relaxation: what each limit says of sums over units.
#include <algorithm>
#include <initializer_list>

#include "planner/lane_boost.hpp"
#include "planner/plan_relaxation.hpp"
#include "planner/record.hpp"

namespace sluice::planner {
namespace {

std::size_t row_index(Limit limit) { return static_cast<std::size_t>(limit); }

double weighed(const UseSum& weights, const UseSum& sum) {
  double total = 0;
  for (std::size_t i = 0; i < kUses; ++i) total += weights[i] * sum[i];
  return total;
}

}  // namespace

void PlanRelaxation::add_whole_rows(std::array<Row, kLimits>& all) const {
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  const auto put = [&all](Limit limit, Use use, double weight) {
    all[row_index(limit)].weights[static_cast<std::size_t>(use)] += weight;
  };
  const double down = 1 / h2d_rate_, up = 1 / d2h_rate_, update = 1 / update_rate_;
  // A lane that others slow works at most at the product of their factors while they run.
  const auto interference = costs.interference();
  const auto slowed = [&](Limit limit, const char* lane) {
    double left = 1;
    for (const auto& each : interference) {
      if (each.on != lane || each.factor >= 1) continue;
      const double lost = left * (1 - each.factor);
      if (each.from == "h2d") put(limit, Use::h2d, lost * down);
      if (each.from == "d2h") put(limit, Use::d2h, lost * up);
      if (each.from == "cpu") put(limit, Use::update, lost * update);
      if (each.from == "compute") put(limit, Use::compute, lost);
      left *= each.factor;
    }
  };
  put(Limit::compute, Use::compute, 1);
  slowed(Limit::compute, "compute");
  put(Limit::h2d, Use::h2d, down);
  slowed(Limit::h2d, "h2d");
  put(Limit::d2h, Use::d2h, up);
  slowed(Limit::d2h, "d2h");
  put(Limit::cpu, Use::update, update);
  slowed(Limit::cpu, "cpu");
  const bool contention = costs.switches().contention;
  if (contention && profile.dram.value > 0) {
    put(Limit::dram, Use::h2d, profile.h2d_dram.value / profile.dram.value);
    put(Limit::dram, Use::d2h, profile.d2h_dram.value / profile.dram.value);
    put(Limit::dram, Use::update, profile.update_dram.value / profile.dram.value);
  }
  if (contention && profile.cores.value > 0) {
    const double cores = profile.cores.value;
    put(Limit::cores, Use::update, update_cores_ / cores);
    put(Limit::cores, Use::h2d, profile.copy_cores.value / cores);
    put(Limit::cores, Use::d2h, profile.copy_cores.value / cores);
    if (profile.device == DeviceKind::host) put(Limit::cores, Use::compute, 1 / cores);
  }
  if (predictor_->job().optimizer.clip) {
    // The device's own updates may run meanwhile.
    for (const Use use : {Use::embed_store, Use::embed_wait, Use::forward, Use::tail}) {
      put(Limit::embed_cycle, use, 1);
    }
  }
}

/// Of one part each: a step's time is at least its parts' together.
void PlanRelaxation::add_part_rows(std::array<Row, kLimits>& all, std::int64_t rounds,
                                   Bytes reserve) const {
  const Job& job = predictor_->job();
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  const auto row = [&all](Limit limit) -> Row& { return all[row_index(limit)]; };
  const auto put = [&row](Limit limit, Use use, double weight) {
    row(limit).weights[static_cast<std::size_t>(use)] += weight;
  };
  const double down = 1 / h2d_rate_, up = 1 / d2h_rate_, update = 1 / update_rate_;
  const auto times = static_cast<double>(rounds);
  const double once = predictor_->pass_times().once.count();
  for (const Limit limit : {Limit::first_forward, Limit::later_forward}) {
    put(limit, Use::forward, 1 / times);
  }
  for (const Limit limit : {Limit::first_backward, Limit::later_backward, Limit::last_backward}) {
    put(limit, Use::tail, 1 / times);
    row(limit).constant = -once / times;  // The norms are in the last.
  }
  row(rounds > 1 ? Limit::last_backward : Limit::first_backward).constant +=
      rounds > 1 ? once * least_share(costs.boost()) : once;

  // Between norm and loss: all updates, which wait for the norm, and all weights that they change.
  if (job.optimizer.clip) {
    // The device's own updates are what compute has beside its passes.
    put(Limit::first_forward, Use::compute, 1);
    put(Limit::first_forward, Use::forward, -1);
    put(Limit::first_forward, Use::tail, -1);
    put(Limit::updates, Use::update, update);
    put(Limit::refresh, Use::refresh, down);
    double left = 1, compute_left = 1;
    for (const auto& each : costs.interference()) {
      if (each.factor >= 1) continue;
      const double lost = (each.on == "cpu" ? left : compute_left) * (1 - each.factor);
      if (each.on == "cpu") {
        if (each.from == "h2d") put(Limit::updates, Use::refresh, lost * down);
        if (each.from == "compute") put(Limit::updates, Use::forward, lost / times);
        left *= each.factor;
      }
      if (each.on == "compute") {
        if (each.from == "h2d") put(Limit::first_forward, Use::refresh, lost * down);
        if (each.from == "cpu") put(Limit::first_forward, Use::update, lost * update);
        compute_left *= each.factor;
      }
    }
    // What comes first or last in a chain slows nothing else of it.
    put(Limit::embed_chain, Use::forward, 1 / times);
    put(Limit::embed_chain, Use::embed_wait, 1);
    put(Limit::block_chain, Use::block_chain, 1);
    put(Limit::updates, Use::last_copy, left);
  }

  const double at_loss = device_fixed(rounds).at_loss;
  const double hbm = static_cast<double>((predictor_->machine().hbm - reserve).count());
  // What the device cannot hold when a loss begins, as time of a link. Staged state that has its
  // own memory has it beside all that several rounds use, and what takes the place of records is
  // stored before them: so of several rounds the first loss leaves no more room than the others.
  const auto not_held = [&](Limit limit, double rate) {
    for (const Use use : {Use::records, Use::resident, Use::scratch, Use::loss_slots}) {
      put(limit, use, rate);
    }
    if (rounds > 1) put(limit, Use::waiting, rate);
    row(limit).constant += (at_loss - hbm) * rate;
  };
  const Use staged = rounds > 1 ? Use::early_staged : Use::staged;
  put(Limit::first_stores, staged, up);
  not_held(Limit::first_stores, up);
  const bool contention = costs.switches().contention;
  if (contention && profile.dram.value > 0) {
    const double dram = profile.dram.value;
    if (job.optimizer.clip) {
      for (const Limit limit : {Limit::update_dram, Limit::first_dram}) {
        put(limit, Use::update, profile.update_dram.value / dram);
        put(limit, Use::refresh, profile.h2d_dram.value / dram);
      }
      // After the last update only copies use it, at most as fast as their links are.
      const double loads = profile.h2d_dram.value * h2d_rate_ / dram;
      const double stores = profile.d2h_dram.value * d2h_rate_ / dram;
      put(Limit::update_dram, Use::last_copy, std::max(0.0, 1 - loads));
      put(Limit::first_dram, Use::last_copy, std::max(0.0, 1 - loads - stores));
    }
    put(Limit::first_dram, staged, profile.d2h_dram.value / dram);
    not_held(Limit::first_dram, profile.d2h_dram.value / dram);
  }
  if (contention && profile.cores.value > 0 && job.optimizer.clip) {
    const double cores = profile.cores.value;
    put(Limit::update_cores, Use::update, update_cores_ / cores);
    put(Limit::update_cores, Use::refresh, profile.copy_cores.value / cores);
    if (profile.device == DeviceKind::host) {
      put(Limit::update_cores, Use::forward, 1 / (times * cores));
    }
  }
  // The share of the ring is part of what streams.
  const double streams = down * (1 - 1 / static_cast<double>(job.model.layers));
  for (const Limit limit : {Limit::first_loads, Limit::later_loads, Limit::last_loads}) {
    not_held(limit, down);
    put(limit, Use::streamed, streams);
  }
  if (rounds > 1) {
    not_held(Limit::later_stores, up);
    put(Limit::later_loads, Use::reloads, down / (times - 1));
    put(Limit::last_loads, Use::reloads, down / (times - 1));
    put(Limit::last_loads, Use::early_staged, down);
  } else {
    put(Limit::first_loads, Use::staged, down);
  }
}

/// With boost, what the lane computes in a part of a step may be as much quicker as any rest makes
/// it; over the whole step resting does not pay, and all of it counts as sustained
/// (sim/boost.hpp; `gain` is below what interference leaves of the speed).
void PlanRelaxation::add_rest(std::array<Row, kLimits>& all) const {
  const double share = least_share(predictor_->costs().boost());
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    if (static_cast<Limit>(i) == Limit::compute) continue;
    for (const Use use :
         {Use::compute, Use::forward, Use::tail, Use::block_chain, Use::last_copy}) {
      all[i].weights[static_cast<std::size_t>(use)] *= share;
    }
  }
}

std::array<PlanRelaxation::Row, kLimits> PlanRelaxation::rows(std::int64_t rounds,
                                                              Bytes reserve) const {
  std::array<Row, kLimits> all{};
  add_whole_rows(all);
  add_part_rows(all, rounds, reserve);
  add_memory_rows(all, rounds, reserve);
  return all;
}

Seconds PlanRelaxation::time_of(const UseSum& sum, std::int64_t rounds) const {
  auto all = rows(rounds, Bytes(0));
  add_rest(all);
  double most = 0;
  std::array<double, kParts> parts{};
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    const StepPart part = part_of(static_cast<Limit>(i));
    double& least = part == StepPart::whole ? most : parts[static_cast<std::size_t>(part)];
    least = std::max(least, weighed(all[i].weights, sum) + all[i].constant);
  }
  double together = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    together += parts[part] * times_in_step(static_cast<StepPart>(part), rounds);
  }
  return Seconds(std::max(most, together));
}

std::optional<Limit> PlanRelaxation::exceeded(const Plan& plan) const {
  const UseSum sum = use_of_plan(plan);
  const auto all = rows(plan.rounds, Bytes(0));
  for (std::size_t i = kTimeLimits; i < kLimits; ++i) {
    // Sums of shares round; a byte is none.
    if (weighed(all[i].weights, sum) + all[i].constant > 1) return static_cast<Limit>(i);
  }
  return std::nullopt;
}

}  // namespace sluice::planner
