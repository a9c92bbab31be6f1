// Rows of the relaxation: when the CPU updates, and what it shares meanwhile.
#include <algorithm>

#include "planner/costs/lane_boost.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {

/// With clipping: all CPU updates, which come between norm and loss.
void PlanRelaxation::add_updates(Rows& all, const RelaxedNode& node) const {
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  const auto row = [&all](Limit limit) -> Row& { return all[row_index(limit)]; };
  const auto put = [&row](Limit limit, Use use, double weight) {
    row(limit).weights[static_cast<std::size_t>(use)] += weight;
  };
  const auto times = static_cast<double>(node.rounds);
  put(Limit::updates, Use::update, 1 / update_rate_);
  double left = 1;
  for (const Slowing& each : updates_slowed(node.proves)) {
    if (each.from == "h2d") row(Limit::updates).down += each.lost;
    if (each.from == "d2h") row(Limit::updates).up += each.lost;
    if (each.from == "compute") put(Limit::updates, Use::forward, each.lost / times);
    left -= each.lost;
  }
  // What follows the last update is slowed by nothing here.
  put(Limit::updates, Use::last_copy, left);
  const bool contention = costs.switches().contention;
  if (contention && profile.dram.value > 0) {
    const double dram = profile.dram.value;
    const double loads = profile.h2d_dram.value * h2d_rate_ / dram;
    const double stores = profile.d2h_dram.value * d2h_rate_ / dram;
    for (const Limit limit : {Limit::update_dram, Limit::first_dram}) {
      put(limit, Use::update, profile.update_dram.value / dram);
      row(limit).down = loads;
    }
    row(Limit::first_dram).up = stores;
    // After the last update only copies use it, at most as fast as their links are.
    put(Limit::update_dram, Use::last_copy, std::max(0.0, 1 - loads));
    put(Limit::first_dram, Use::last_copy, std::max(0.0, 1 - loads - stores));
  }
  if (contention && profile.cores.value > 0) {
    const double cores = profile.cores.value;
    put(Limit::update_cores, Use::update, update_cores_ / cores);
    row(Limit::update_cores).down = profile.copy_cores.value * h2d_rate_ / cores;
    row(Limit::update_cores).up = profile.copy_cores.value * d2h_rate_ / cores;
    if (profile.device == DeviceKind::host) {
      put(Limit::update_cores, Use::forward, 1 / (times * cores));
    }
  }
}

/// Without clipping: all CPU updates, which begin when the last round's losses are over and end
/// with a copy. Copies of the turn are bounded apart.
void PlanRelaxation::add_turn(Rows& all, const RelaxedNode& node) const {
  if (node.rounds == 1) return;
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  const auto times = static_cast<double>(node.rounds);
  const auto weight = [](Row& row, Use use) -> double& {
    return row.weights[static_cast<std::size_t>(use)];
  };
  const double losses = static_cast<double>(predictor_->job().micro_batches()) / times *
                        predictor_->pass_times().loss.count() *
                        least_share(predictor_->costs().boost());
  Row& updates = all[row_index(Limit::turn_updates)];
  weight(updates, Use::update) = 1 / update_rate_;
  double left = 1;
  for (const Slowing& each : updates_slowed(node.proves)) {
    if (each.from == "h2d") updates.down += each.lost;
    if (each.from == "d2h") updates.up += each.lost;
    left -= each.lost;
    if (each.from != "compute") continue;
    weight(updates, Use::forward) += each.lost / times;
    weight(updates, Use::tail) += each.lost / times;
  }
  // What runs before and after them slows none.
  updates.constant = left * losses;
  weight(updates, Use::last_copy) = left;
  if (!costs.switches().contention || profile.dram.value <= 0) return;
  Row& dram = all[row_index(Limit::turn_dram)];
  weight(dram, Use::update) = profile.update_dram.value / profile.dram.value;
  dram.down = profile.h2d_dram.value * h2d_rate_ / profile.dram.value;
  dram.up = profile.d2h_dram.value * d2h_rate_ / profile.dram.value;
  const double unused = std::max(0.0, 1 - dram.down - dram.up);  // By copies alone, at least.
  dram.constant = unused * losses;
  weight(dram, Use::last_copy) = unused;
}

/// What goes round: a unit's gradient to the host, its update, a copy, and then the passes from its
/// first one forward to its last backward.
void PlanRelaxation::add_cycles(Rows& all, std::int64_t rounds) const {
  const Job& job = predictor_->job();
  const PassTimes& pass = predictor_->pass_times();
  const auto put = [&all](Limit limit, Use use, double weight) {
    all[row_index(limit)].weights[static_cast<std::size_t>(use)] += weight;
  };
  // Passes are slowed by what is copied, but for what is while none runs. What waits lets passes
  // gain from rest.
  const double gained = most_gained(predictor_->costs().boost());
  double slowed_by = 0;
  const auto add_slowed = [&](Limit limit) {
    for (const Slowing& each : slowed("compute")) {
      const bool down = each.from == "h2d";
      if (!down && each.from != "d2h") continue;
      put(limit, down ? Use::h2d : Use::d2h, each.lost / (down ? h2d_rate_ : d2h_rate_));
    }
  };
  for (const Slowing& each : slowed("compute")) {
    if (each.from == "h2d" || each.from == "d2h") slowed_by += each.lost;
  }
  const bool slowing = slowed_by + gained < 1;
  const double left = 1 - gained, left_slowed = left - (slowing ? slowed_by : 0);
  // The device's own updates may run while the embedding's is waited for.
  for (const Limit limit : {Limit::embed_cycle, Limit::embed_slowed, Limit::block_cycle}) {
    if (limit == Limit::block_cycle && job.optimizer.clip) continue;
    for (const Use use : {Use::forward, Use::tail}) put(limit, use, 1);
    if (limit != Limit::embed_cycle && slowing) add_slowed(limit);
    const double waits = limit == Limit::embed_cycle ? left : left_slowed;
    if (limit == Limit::block_cycle) {
      put(limit, Use::between, waits);
      continue;
    }
    for (const Use use : {Use::embed_store, Use::embed_wait}) put(limit, use, waits);
    for (const Use use : {Use::forward_waits, Use::backward_waits}) put(limit, use, left);
  }
  if (job.optimizer.clip) return;
  // Nothing waits for norms. Passes of blocks before the first that the CPU updates, and the
  // embedding's, may come before its first and behind its last.
  const double once = pass.once.count();
  for (const Limit limit : {Limit::embed_cycle, Limit::embed_slowed}) {
    all[row_index(limit)].constant = -once;
  }
  const std::int64_t a_round = job.micro_batches() / rounds;
  const auto per_round = static_cast<double>(a_round);
  put(Limit::block_cycle, Use::block_passes, 1);
  all[row_index(Limit::block_cycle)].constant =
      -once - per_round * (pass.embed_forward + pass.embed_backward).count() -
      static_cast<double>(job.model.layers) * block_passes(rounds);
}

}  // namespace sluice::planner
