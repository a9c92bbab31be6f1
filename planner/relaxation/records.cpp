// What each choice of a block's records uses in a step: columns of the relaxation.
#include <algorithm>

#include "planner/costs/lane_boost.hpp"
#include "planner/graph/record.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {
namespace {

/// The least that rebuilding takes of a block that keeps this much.
Seconds recomputed(Keep keep, const PassTimes& pass) {
  if (keep == Keep::all) return Seconds(0);
  return keep == Keep::selective ? pass.recompute_selective : pass.recompute_input;
}

/// The most that it takes.
Seconds most_recomputed(Keep keep, const PassTimes& pass) {
  if (keep == Keep::all) return Seconds(0);
  return keep == Keep::selective ? pass.most_recompute_selective : pass.most_recompute_input;
}

}  // namespace

double PlanRelaxation::block_passes(std::int64_t rounds) const {
  const PassTimes& pass = predictor_->pass_times();
  Seconds most{0};
  for (const UnitPlan& unit : kept_) most = std::max(most, most_recomputed(unit.keep, pass));
  const std::int64_t a_round = predictor_->part().micro_batches() / rounds;
  return static_cast<double>(a_round) *
         (pass.most_block_forward + pass.most_block_backward + most).count();
}

/// Adds the waits for slots of records. Between a block's first task forward and its last no other
/// block's run, so of its records of a round those that have no slot have left by then, behind each
/// other; backward they come likewise. What copies take of passes is taken off, for it counts
/// apart.
void PlanRelaxation::add_waits(UseSum& use, const UnitPlan& unit, std::int64_t rounds,
                               std::int64_t slots) const {
  const Job& job = predictor_->part();
  const PassTimes& pass = predictor_->pass_times();
  const BlockRecord record = block_record(job);
  const std::int64_t micro_batches = job.micro_batches() / rounds;
  const auto per_round = static_cast<double>(micro_batches);
  const double without_slot = per_round - static_cast<double>(slots);
  // The first record's input may have left before, for the pass before wrote it. A record that is
  // its input alone takes a slot only when it comes back.
  const auto kept = static_cast<double>(record.kept(unit.keep).count());
  const auto input = static_cast<double>(record.input_bytes.count());
  if (without_slot <= 0 || unit.keep_tier != Tier::host || kept <= input) return;
  double slowed_by = 0;
  for (const Slowing& each : slowed(LaneKind::compute)) slowed_by += each.lost;
  const double left = std::max(0.0, 1 - slowed_by);
  const double share = least_share(predictor_->costs().boost());
  const double again = recomputed(unit.keep, pass).count();
  // The wait is linear in what one pass takes, so that of all kinds of blocks it is least at one of
  // the two ends.
  const auto wait = [&](double copies, double least, double most) {
    const auto at = [&](double one) {
      return std::max(0.0, left * (copies + 2 * share * one) - per_round * one);
    };
    return std::min(at(least), at(most));
  };
  const auto times = static_cast<double>(rounds);
  use_of(use, Use::forward_waits) =
      times * wait((without_slot * kept - input) / d2h_rate_, pass.least_block_forward.count(),
                   pass.most_block_forward.count());
  use_of(use, Use::backward_waits) =
      times * wait(without_slot * kept / h2d_rate_, pass.least_block_backward.count() + again,
                   (pass.most_block_backward + most_recomputed(unit.keep, pass)).count());
}

/// Records that hold more than their input fill all slots of a round; inputs alone come one by one.
std::int64_t PlanRelaxation::slots_held(Bytes kept, const RelaxedNode& node) const {
  const Job& job = predictor_->part();
  if (kept <= block_record(job).input_bytes) return 1;
  return std::min(node.record_slots.least, job.micro_batches() / node.rounds);
}

Bytes PlanRelaxation::slot_bytes(const RelaxedNode& node) const {
  const Bytes largest = node.largest_record.value_or(Bytes(0));
  // Inputs alone take slots only when they come back, which may be later.
  if (largest <= block_record(predictor_->part()).input_bytes) return Bytes(0);
  return largest * slots_held(largest, node);
}

UseSum PlanRelaxation::record_use(const UnitPlan& unit, const RelaxedNode& node) const {
  const std::int64_t rounds = node.rounds;
  const Job& job = predictor_->part();
  const PassTimes& pass = predictor_->pass_times();
  const BlockRecord record = block_record(job);
  const auto micro = static_cast<double>(job.micro_batches());
  const double per_round = micro / static_cast<double>(rounds);
  const auto layers = static_cast<double>(job.model.layers);
  UseSum use{};
  const auto kept = static_cast<double>(record.kept(unit.keep).count());
  const double again = recomputed(unit.keep, pass).count();
  use_of(use, Use::compute) = use_of(use, Use::tail) = micro * again;
  use_of(use, Use::records) = per_round * kept;
  // One slot holds what is rebuilt and is as large as the most that any block rebuilds.
  use_of(use, Use::scratch) = (static_cast<double>(record.all_bytes.count()) - kept) / layers;
  if (unit.keep_tier == Tier::hbm) {
    use_of(use, Use::device_records) = per_round * kept;
  } else {
    use_of(use, Use::h2d) = use_of(use, Use::d2h) = micro * kept;
    use_of(use, Use::host_records) = per_round * kept;
    // Slots are as large as the largest record that leaves.
    if (!node.largest_record) {
      const auto held = static_cast<double>(slots_held(record.kept(unit.keep), node));
      use_of(use, Use::record_slots) = held * kept / layers;
    }
    add_waits(use, unit, rounds, node.record_slots.most);
  }
  return use;
}

std::array<Bytes, 3> PlanRelaxation::record_bytes() const {
  const BlockRecord record = block_record(predictor_->part());
  return {record.kept(Keep::input), record.kept(Keep::selective), record.kept(Keep::all)};
}

std::vector<UnitChoice> PlanRelaxation::record_choices(const RelaxedNode& node) const {
  const BlockRecord record = block_record(predictor_->part());
  std::vector<UnitChoice> all;
  for (const UnitPlan& unit : kept_) {
    const bool leaves = unit.keep_tier == Tier::host;
    if (leaves && node.largest_record && record.kept(unit.keep) > *node.largest_record) continue;
    all.push_back({unit, record_use(unit, node)});
  }
  return all;
}

}  // namespace sluice::planner
