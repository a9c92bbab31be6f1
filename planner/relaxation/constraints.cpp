// Constraints of time: the whole step and its parts, in the letters of docs/design/relaxation.md.
#include <algorithm>
#include <initializer_list>

#include "planner/costs/lane_boost.hpp"
#include "planner/graph/record.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {
namespace {

double weighed(const UseSum& weights, const UseSum& sum) {
  double total = 0;
  for (std::size_t i = 0; i < kUses; ++i) total += weights[i] * sum[i];
  return total;
}

/// Constraints of each part's passes; those of its two links follow them.
constexpr std::array kPasses{Limit::first_forward, Limit::later_forward, Limit::first_backward,
                             Limit::later_backward, Limit::last_backward};

Limit next(Limit limit, std::size_t places) {
  return static_cast<Limit>(constraint_index(limit) + places);
}

}  // namespace

void PlanRelaxation::add_whole_step(Constraints& all, bool proves) const {
  const ProfileCostModel& costs = predictor_->costs();
  const MachineProfile& profile = costs.profile();
  const auto put = [&all](Limit limit, Use use, double weight) {
    all[constraint_index(limit)].weights[static_cast<std::size_t>(use)] += weight;
  };
  const double down = 1 / h2d_rate_, up = 1 / d2h_rate_, update = 1 / update_rate_;
  const auto add_lane = [&](Limit limit, LaneKind lane, Use use, double weight) {
    put(limit, use, weight);
    const auto slowings = limit == Limit::cpu ? updates_slowed(proves) : slowed(lane);
    for (const Slowing& each : slowings) {
      if (each.from == LaneKind::h2d) put(limit, Use::h2d, each.lost * down);
      if (each.from == LaneKind::d2h) put(limit, Use::d2h, each.lost * up);
      if (each.from == LaneKind::cpu) put(limit, Use::update, each.lost * update);
      if (each.from == LaneKind::compute) put(limit, Use::compute, each.lost);
      if (each.from == LaneKind::fabric) put(limit, Use::fabric, each.lost);
    }
  };
  // compute + lost(compute,h2d) h2d/H + lost(compute,d2h) d2h/D + lost(compute,cpu) update/A
  //     + (1 - gain) (forward_waits + backward_waits) <= T
  add_lane(Limit::compute, LaneKind::compute, Use::compute, 1);
  for (const Use use : {Use::forward_waits, Use::backward_waits}) {
    put(Limit::compute, use, 1 - most_gained(costs.boost()));
  }
  // h2d/H + lost(h2d,d2h) d2h/D + lost(h2d,cpu) update/A + lost(h2d,compute) compute <= T
  add_lane(Limit::h2d, LaneKind::h2d, Use::h2d, down);
  // d2h/D + lost(d2h,h2d) h2d/H + lost(d2h,cpu) update/A + lost(d2h,compute) compute <= T
  add_lane(Limit::d2h, LaneKind::d2h, Use::d2h, up);
  // update/A + lost(cpu,h2d) h2d/H + lost(cpu,d2h) d2h/D + lost(cpu,compute) compute <= T
  add_lane(Limit::cpu, LaneKind::cpu, Use::update, update);
  const bool contention = costs.switches().contention;
  // (q_h2d h2d + q_d2h d2h + q_cpu update)/Q <= T, of the host's memory.
  if (contention && dram_ > 0) {
    put(Limit::dram, Use::h2d, profile.h2d_dram.value / dram_);
    put(Limit::dram, Use::d2h, profile.d2h_dram.value / dram_);
    put(Limit::dram, Use::update, profile.update_dram.value / dram_);
  }
  // The same of cores; where the device is the host, compute runs on them, too.
  if (contention && cores_ > 0) {
    const double cores = cores_;
    put(Limit::cores, Use::update, update_cores_ / cores);
    put(Limit::cores, Use::h2d, profile.copy_cores.value / cores);
    put(Limit::cores, Use::d2h, profile.copy_cores.value / cores);
    if (profile.device == DeviceKind::host) put(Limit::cores, Use::compute, 1 / cores);
  }
  // fabric + lost(fabric,compute) compute + lost(fabric,h2d) h2d/H + lost(fabric,d2h) d2h/D <= T
  if (predictor_->ranks() > 1) add_lane(Limit::fabric, LaneKind::fabric, Use::fabric, 1);
}

/// Constraints of each part's passes, and of what precedes them in the first forward part.
void PlanRelaxation::add_passes(Constraints& all, std::int64_t rounds) const {
  const auto constraint = [&all](Limit limit) -> Constraint& {
    return all[constraint_index(limit)];
  };
  const auto put = [&constraint](Limit limit, Use use, double weight) {
    constraint(limit).weights[static_cast<std::size_t>(use)] += weight;
  };
  const auto times = static_cast<double>(rounds);
  const double once = predictor_->pass_times().once.count();
  const double sums = predictor_->pass_times().group_sums.count();
  // (forward + forward_waits)/r + lost(compute,h2d) down_p + lost(compute,d2h) up_p <= t_p,
  //     p = F, F'
  for (const Limit limit : {Limit::first_forward, Limit::later_forward}) {
    put(limit, Use::forward, 1 / times);
    put(limit, Use::forward_waits, 1 / times);
  }
  // (tail + backward_waits - once - sums)/r + [p = B, r = 1] (once + sums) + [p = E] rested once
  //     + lost(compute,h2d) down_p + lost(compute,d2h) up_p <= t_p, p = B, B', E
  // The sums of groups lie in some of several rounds.
  for (const Limit limit : {Limit::first_backward, Limit::later_backward, Limit::last_backward}) {
    put(limit, Use::tail, 1 / times);
    put(limit, Use::backward_waits, 1 / times);
    constraint(limit).constant = -(once + sums) / times;
  }
  constraint(rounds > 1 ? Limit::last_backward : Limit::first_backward).constant +=
      rounds > 1 ? once * least_share(predictor_->costs().boost()) : once + sums;
  for (const Slowing& each : slowed(LaneKind::compute)) {
    for (const Limit limit : kPasses) {
      if (each.from == LaneKind::h2d) constraint(limit).down += each.lost;
      if (each.from == LaneKind::d2h) constraint(limit).up += each.lost;
    }
  }
  if (!predictor_->part().optimizer.clip) return;
  // With clipping t_F also has compute - forward - tail + lost(compute,cpu) update/A: the device's
  // own updates are what compute has beside its passes.
  put(Limit::first_forward, Use::compute, 1);
  put(Limit::first_forward, Use::forward, -1);
  put(Limit::first_forward, Use::tail, -1);
  // embed_wait + (forward + forward_waits)/r <= t_F
  // (1 - lost_copies) embed_wait + (forward + forward_waits)/r
  //     + lost(compute,h2d) down_F + lost(compute,d2h) up_F <= t_F
  for (const Limit limit : {Limit::embed_chain, Limit::chain_slowed}) {
    put(limit, Use::forward, 1 / times);
    put(limit, Use::forward_waits, 1 / times);
    put(limit, Use::embed_wait, 1);
  }
  put(Limit::block_chain, Use::block_chain, 1);  // block_chain <= t_F
  for (const Slowing& each : slowed(LaneKind::compute)) {
    if (each.from == LaneKind::cpu)
      put(Limit::first_forward, Use::update, each.lost / update_rate_);
    if (each.from != LaneKind::h2d && each.from != LaneKind::d2h) continue;
    (each.from == LaneKind::h2d ? constraint(Limit::chain_slowed).down
                                : constraint(Limit::chain_slowed).up) += each.lost;
    put(Limit::chain_slowed, Use::embed_wait, -each.lost);
  }
}

/// Constraints of each link in each part:
/// down_p + lost(h2d,d2h) up_p + [F, clipping] lost(h2d,cpu) update/A <= t_p, and up_p likewise.
void PlanRelaxation::add_lanes(Constraints& all) const {
  const bool clip = predictor_->part().optimizer.clip.has_value();
  for (const Limit passes : kPasses) {
    Constraint& down = all[constraint_index(next(passes, 1))];
    Constraint& up = all[constraint_index(next(passes, 2))];
    down.down = up.up = 1;
    const auto add = [&](Constraint& constraint, LaneKind lane, LaneKind other, double& copies) {
      for (const Slowing& each : slowed(lane)) {
        if (each.from == other) copies += each.lost;
        if (each.from == LaneKind::cpu && clip && passes == Limit::first_forward) {
          constraint.weights[static_cast<std::size_t>(Use::update)] += each.lost / update_rate_;
        }
      }
    };
    add(down, LaneKind::h2d, LaneKind::d2h, down.up);
    add(up, LaneKind::d2h, LaneKind::h2d, up.down);
  }
}

/// Multiplies the seconds of passes in constraints of parts of a step by `rested`, the least share
/// of its sustained time that work takes after any rest (sim/boost.hpp). Over the whole step
/// resting does not pay: its constraints count all work as sustained.
void PlanRelaxation::add_rest(Constraints& all) const {
  const double share = least_share(predictor_->costs().boost());
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    const auto limit = static_cast<Limit>(i);
    if (limit == Limit::compute || is_cycle(limit)) continue;
    for (const Use use :
         {Use::compute, Use::forward, Use::tail, Use::block_chain, Use::last_copy}) {
      all[i].weights[static_cast<std::size_t>(use)] *= share;
    }
  }
}

PlanRelaxation::Constraints PlanRelaxation::constraints(const RelaxedNode& node) const {
  Constraints all{};
  const std::int64_t rounds = node.rounds;
  add_whole_step(all, node.proves);
  add_cycles(all, rounds);
  add_passes(all, rounds);
  if (predictor_->part().optimizer.clip) {
    add_updates(all, node);
  } else {
    add_update_span(all, node);
  }
  add_ring_chain(all, node);
  add_lanes(all);
  add_copies(all, rounds, node.reserve);
  add_memory(all, node);
  add_gradient_slots(all, node);
  return all;
}

Seconds PlanRelaxation::time_of(const UseSum& sum, const RelaxedNode& node, double slots) const {
  const std::int64_t rounds = node.rounds;
  auto all = constraints(node);
  add_rest(all);
  std::array<double, kTimedParts> down{}, up{};
  for (std::size_t i = kTimeLimits; i < kSecondLimits; ++i) {
    const CopiedIn copied = copied_in(static_cast<Limit>(i));
    double& least = (copied.down ? down : up)[static_cast<std::size_t>(copied.part)];
    least = std::max(least, weighed(all[i].weights, sum) + all[i].constant + all[i].slots * slots);
  }
  for (auto* copies : {&down, &up}) {
    double& span = (*copies)[part_index(StepPart::update_span)];
    span = std::max(span, (*copies)[part_index(StepPart::first_forward)] +
                              (*copies)[part_index(StepPart::last_backward)]);
  }
  std::array<double, kTimedParts> parts{};
  for (std::size_t i = 0; i < kTimeLimits; ++i) {
    const std::size_t part = part_index(part_of(static_cast<Limit>(i)));
    parts[part] = std::max(parts[part], weighed(all[i].weights, sum) + all[i].constant +
                                            all[i].down * down[part] + all[i].up * up[part]);
  }
  double together = 0, in_span = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    const double time = parts[part] * times_in_step(static_cast<StepPart>(part), rounds);
    together += time;
    if (is_in_update_span(static_cast<StepPart>(part))) in_span += time;
  }
  together += std::max(0.0, parts[part_index(StepPart::update_span)] - in_span);
  return Seconds(std::max(parts[part_index(StepPart::whole)], together));
}

std::optional<Limit> PlanRelaxation::exceeded(const Plan& plan) const {
  const UseSum sum = use_of_plan(plan);
  const auto all = constraints(node_of(plan));
  const double slots = more_slots(plan);
  for (std::size_t i = kSecondLimits; i < kLimits; ++i) {
    // Rounded sums of shares may be off by less than a byte.
    const double over = weighed(all[i].weights, sum) + all[i].constant + all[i].slots * slots;
    if (over > 1) return static_cast<Limit>(i);
  }
  return std::nullopt;
}

}  // namespace sluice::planner
