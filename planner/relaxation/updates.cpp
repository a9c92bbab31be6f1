// Constraints of CPU updates: when they come, and what they share meanwhile.
#include <algorithm>

#include "planner/costs/lane_boost.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {
namespace {

/// Seconds of slack in a constraint that is to hold of every plan.
constexpr double kNever = 1e6;

}  // namespace

/// With clipping all CPU updates come between norm and loss, in the first forward part F.
void PlanRelaxation::add_updates(Constraints& all, const RelaxedNode& node) const {
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  const auto constraint = [&all](Limit limit) -> Constraint& {
    return all[constraint_index(limit)];
  };
  const auto put = [&constraint](Limit limit, Use use, double weight) {
    constraint(limit).weights[static_cast<std::size_t>(use)] += weight;
  };
  const auto times = static_cast<double>(node.rounds);
  // update/A + lost(cpu,h2d) down_F + lost(cpu,d2h) up_F + lost(cpu,compute) forward/r
  //     + (1 - lost_cpu) last_copy <= t_F, for nothing slows what follows the last update.
  put(Limit::updates, Use::update, 1 / update_rate_);
  double left = 1;
  for (const Slowing& each : updates_slowed(node.proves)) {
    if (each.from == LaneKind::h2d) constraint(Limit::updates).down += each.lost;
    if (each.from == LaneKind::d2h) constraint(Limit::updates).up += each.lost;
    if (each.from == LaneKind::compute) put(Limit::updates, Use::forward, each.lost / times);
    left -= each.lost;
  }
  put(Limit::updates, Use::last_copy, left);
  const bool contention = costs.switches().contention;
  // (q_cpu update + q_h2d H down_F)/Q + (1 - q_h2d H/Q) last_copy <= t_F
  // (q_cpu update + q_h2d H down_F + q_d2h D up_F)/Q + (1 - (q_h2d H + q_d2h D)/Q) last_copy <=
  // t_F, for after the last update only copies use the host's memory, at most as fast as their
  // links.
  if (contention && dram_ > 0) {
    const double dram = dram_;
    const double loads = profile.h2d_dram.value * h2d_rate_ / dram;
    const double stores = profile.d2h_dram.value * d2h_rate_ / dram;
    for (const Limit limit : {Limit::update_dram, Limit::first_dram}) {
      put(limit, Use::update, profile.update_dram.value / dram);
      constraint(limit).down = loads;
    }
    constraint(Limit::first_dram).up = stores;
    put(Limit::update_dram, Use::last_copy, std::max(0.0, 1 - loads));
    put(Limit::first_dram, Use::last_copy, std::max(0.0, 1 - loads - stores));
  }
  // (cores_cpu update + cores_copy (H down_F + D up_F))/cores <= t_F; forward/r too where the
  // device is the host.
  if (contention && cores_ > 0) {
    const double cores = cores_;
    put(Limit::update_cores, Use::update, update_cores_ / cores);
    constraint(Limit::update_cores).down = profile.copy_cores.value * h2d_rate_ / cores;
    constraint(Limit::update_cores).up = profile.copy_cores.value * d2h_rate_ / cores;
    if (profile.device == DeviceKind::host) {
      put(Limit::update_cores, Use::forward, 1 / (times * cores));
    }
  }
}

/// State in a ring whose update waits for the norm is there at the norm or comes behind it, and the
/// next step's passes wait for it. At the norm slots hold it, and so at most the device's memory.
void PlanRelaxation::add_ring_chain(Constraints& all, const RelaxedNode& node) const {
  if (!has_rings()) {
    for (const Limit limit : {Limit::ring_chain, Limit::late_chain}) {
      all[constraint_index(limit)].constant = -kNever;
    }
    return;
  }
  const Job& job = predictor_->part();
  // rotated_late/H + (forward + forward_waits)/r <= t_F
  Constraint& late = all[constraint_index(Limit::late_chain)];
  late.weights[static_cast<std::size_t>(Use::forward)] = 1 / static_cast<double>(node.rounds);
  late.weights[static_cast<std::size_t>(Use::forward_waits)] = 1 / static_cast<double>(node.rounds);
  late.weights[static_cast<std::size_t>(Use::rotated_late)] = 1 / h2d_rate_;
  Constraint& chain = all[constraint_index(Limit::ring_chain)];
  const auto put = [&chain](Use use, double weight) {
    chain.weights[static_cast<std::size_t>(use)] += weight;
  };
  const double down = 1 / h2d_rate_;
  const auto times = static_cast<double>(node.rounds);
  put(Use::forward, 1 / times);
  put(Use::forward_waits, 1 / times);
  put(Use::rotated, down);
  if (node.state_slots) {
    // (rotated - slots)/H + (forward + forward_waits)/r <= t_F
    const UnitSize block{parameters_[1], second_[1]};
    const std::int64_t slots = *node.state_slots * state_bytes(job, block).count();
    chain.constant = -static_cast<double>(slots) * down;
    return;
  }
  // (rotated + resident + waiting + staged + fixed - V)/H + (forward + forward_waits)/r <= t_F
  for (const Use use : {Use::resident, Use::waiting, Use::staged}) put(use, down);
  const DeviceFixed fixed = device_fixed(node.rounds);
  const auto hbm = static_cast<double>((predictor_->machine().hbm - node.reserve).count());
  chain.constant = (fixed.always - fixed.workspace - hbm) * down;
}

/// Without clipping all CPU updates come in the update span: they begin when the last round's
/// losses are over and end with a copy. Copies of the span have constraints of their own.
void PlanRelaxation::add_update_span(Constraints& all, const RelaxedNode& node) const {
  if (node.rounds == 1) return;
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  const auto times = static_cast<double>(node.rounds);
  const auto weight = [](Constraint& constraint, Use use) -> double& {
    return constraint.weights[static_cast<std::size_t>(use)];
  };
  const double losses = static_cast<double>(predictor_->part().micro_batches()) / times *
                        predictor_->pass_times().loss.count() *
                        least_share(predictor_->costs().boost());
  // update/A + lost(cpu,h2d) (down_E + down_F) + lost(cpu,d2h) (up_E + up_F)
  //     + lost(cpu,compute) (forward + tail)/r + (1 - lost_cpu) (losses + last_copy) <= t_E + t_F
  Constraint& updates = all[constraint_index(Limit::update_span_updates)];
  weight(updates, Use::update) = 1 / update_rate_;
  double left = 1;
  for (const Slowing& each : updates_slowed(node.proves)) {
    if (each.from == LaneKind::h2d) updates.down += each.lost;
    if (each.from == LaneKind::d2h) updates.up += each.lost;
    left -= each.lost;
    if (each.from != LaneKind::compute) continue;
    weight(updates, Use::forward) += each.lost / times;
    weight(updates, Use::tail) += each.lost / times;
  }
  updates.constant = left * losses;
  weight(updates, Use::last_copy) = left;
  if (!costs.switches().contention || dram_ <= 0) return;
  // (q_cpu update + q_h2d H (down_E + down_F) + q_d2h D (up_E + up_F))/Q
  //     + (1 - (q_h2d H + q_d2h D)/Q) (losses + last_copy) <= t_E + t_F
  Constraint& dram = all[constraint_index(Limit::update_span_dram)];
  weight(dram, Use::update) = profile.update_dram.value / dram_;
  dram.down = profile.h2d_dram.value * h2d_rate_ / dram_;
  dram.up = profile.d2h_dram.value * d2h_rate_ / dram_;
  const double unused = std::max(0.0, 1 - dram.down - dram.up);
  dram.constant = unused * losses;
  weight(dram, Use::last_copy) = unused;
}

/// Constraints of cycles: a unit's gradient to the host, its update, a copy, and then the passes
/// from its first one forward to its last backward.
void PlanRelaxation::add_cycles(Constraints& all, std::int64_t rounds) const {
  const Job& job = predictor_->part();
  const PassTimes& pass = predictor_->pass_times();
  const auto put = [&all](Limit limit, Use use, double weight) {
    all[constraint_index(limit)].weights[static_cast<std::size_t>(use)] += weight;
  };
  // Passes are slowed by copies that run beside them. While they wait they may gain from rest.
  const double gained = most_gained(predictor_->costs().boost());
  double slowed_by = 0;
  const auto add_slowed = [&](Limit limit) {
    for (const Slowing& each : slowed(LaneKind::compute)) {
      const bool down = each.from == LaneKind::h2d;
      if (!down && each.from != LaneKind::d2h) continue;
      put(limit, down ? Use::h2d : Use::d2h, each.lost / (down ? h2d_rate_ : d2h_rate_));
    }
  };
  for (const Slowing& each : slowed(LaneKind::compute)) {
    if (each.from == LaneKind::h2d || each.from == LaneKind::d2h) slowed_by += each.lost;
  }
  const bool slowing = slowed_by + gained < 1;
  const double left = 1 - gained, left_slowed = left - (slowing ? slowed_by : 0);
  // embed_cycle:  forward + tail
  //     + (1 - gain) (embed_store + embed_wait + forward_waits + backward_waits)
  //     <= T + [no clip] once
  // embed_slowed: forward + tail + lost(compute,h2d) h2d/H + lost(compute,d2h) d2h/D
  //     + (1 - gain - lost_copies) (embed_store + embed_wait) + (1 - gain) (waits for slots)
  //     <= T + [no clip] once
  // block_cycle:  forward + tail + slowing + (1 - gain - lost_copies) between + block_passes
  //     <= T + once + (embedding's passes of a round) + L (block's passes of a round)
  // The device's own updates may run while the embedding's is waited for, so they do not count.
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
  // Without clipping nothing waits for norms. Passes of the embedding and of blocks before the
  // first that the CPU updates may come before its first pass and behind its last: block_cycle
  // takes off one round's passes of the embedding and of all blocks, and block_passes puts back
  // those of blocks that the CPU updates.
  const double once = (pass.once + pass.group_sums).count();
  for (const Limit limit : {Limit::embed_cycle, Limit::embed_slowed}) {
    all[constraint_index(limit)].constant = -once;
  }
  const std::int64_t a_round = job.micro_batches() / rounds;
  const auto per_round = static_cast<double>(a_round);
  put(Limit::block_cycle, Use::block_passes, 1);
  all[constraint_index(Limit::block_cycle)].constant =
      -once - per_round * (pass.embed_forward + pass.embed_backward).count() -
      static_cast<double>(job.model.layers) * block_passes(rounds);
}

}  // namespace sluice::planner
