// The choices C_g of the relaxation's units.
#include <algorithm>

#include "planner/costs/contended_updates.hpp"
#include "planner/costs/cost_key.hpp"
#include "planner/costs/fabric_rates.hpp"
#include "planner/costs/fastest_rates.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/slices.hpp"
#include "planner/models/unit_classes.hpp"
#include "planner/models/unit_size.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {
namespace {

/// The same choices, but of weights in HBM each rank holds its slice alone.
UnitPlan sliced(UnitPlan unit) {
  unit.resident = Extent::slice;
  return unit;
}

/// Every combination of a unit's residency, executor and time that validate() knows to run.
std::vector<UnitPlan> all_placements(const Job& job, std::int64_t ranks) {
  const When first = job.optimizer.clip ? When::forward : When::backward;
  std::vector<UnitPlan> all;
  for (const Tier weights : {Tier::host, Tier::hbm}) {
    for (const Tier gradients : {Tier::host, Tier::hbm}) {
      UnitPlan unit;
      unit.weights = weights;
      unit.gradients = gradients;
      unit.when = first;
      all.push_back(unit);
      unit.when = When::after;
      all.push_back(unit);
      if (first == When::backward) {
        unit.when = When::forward;
        all.push_back(unit);
      }
    }
    UnitPlan staged;
    staged.weights = weights;
    staged.gradients = Tier::hbm;
    staged.executor = Executor::gpu;
    staged.when = When::after;
    all.push_back(staged);
    if (ranks > 1) {  // No rings with several ranks; but slices that are gathered for each use.
      if (weights == Tier::hbm) all.push_back(sliced(staged));
      continue;
    }
    staged.staging = Staging::ring;
    for (const Tier gradients : {Tier::host, Tier::hbm}) {
      staged.gradients = gradients;
      staged.when = When::after;
      all.push_back(staged);
      if (job.optimizer.clip) continue;
      staged.when = When::backward;
      all.push_back(staged);
    }
  }
  UnitPlan resident;
  resident.weights = resident.gradients = resident.state = Tier::hbm;
  resident.executor = Executor::gpu;
  resident.when = When::after;
  all.push_back(resident);
  if (ranks > 1) all.push_back(sliced(resident));
  if (!job.optimizer.clip) {
    resident.when = When::backward;
    all.push_back(resident);
    if (ranks > 1) all.push_back(sliced(resident));
  }
  return all;
}

}  // namespace

PlanRelaxation::PlanRelaxation(const Predictor& predictor, const Pins& pins)
    : predictor_(&predictor) {
  const Job& job = predictor.part();
  const std::size_t head = unit_count(job.model) - 1;
  // The smallest block stands for all: every plan moves and holds at least as much.
  parameters_ = {unit_padded_size(job.model, 0), least_block_size(job.model),
                 unit_padded_size(job.model, head)};
  second_ = {parameters_[0], parameters_[1], parameters_[2]};
  if (muon_updates(job, 1)) {
    for (const BlockClass& each : block_classes(job.model)) {
      second_[1] = std::min(second_[1], unit_size(job, each.unit).second);
    }
  }
  const std::int64_t ranks = predictor.ranks();
  if (pins) {
    Plan plan = predictor.plan_of({}, 1);
    pins(plan);
    pulls_ = ranks > 1 && plan.gather == Gather::host;
  }
  for (std::size_t kind = 0; kind < 3; ++kind) {
    slices_[kind] = slice_parameters(parameters_[kind], ranks);
  }
  dram_ = predictor.costs().profile().dram.value.count() / static_cast<double>(ranks);
  cores_ = predictor.costs().profile().cores.value / static_cast<double>(ranks);
  if (ranks > 1) time_collectives();
  const FastestRates fastest = fastest_rates(job, predictor.costs(), ranks);
  h2d_rate_ = fastest.h2d;
  d2h_rate_ = fastest.d2h;
  update_rate_ = fastest.update;
  update_cores_ = fastest.update_cores;
  cpu_slowed_ = slowed_updates(predictor.costs(), fastest.update_of);
  cpu_contended_ = cpu_slowed_;
  // Rates beside copies are of one rank alone.
  if (ranks > 1) {
    allow(pins);
    return;
  }
  if (const auto rates = shared_rates(job, predictor.costs(), fastest)) {
    add_contention(*rates, cpu_contended_);
  }
  allow(pins);
}

/// Least seconds in which a rank receives the others' sums of a slice of so many parameters: all at
/// once, at the fabric's highest rate `fastest`, or those of its host for one slice of each host,
/// and then those of the other hosts.
double PlanRelaxation::exchange_seconds(std::int64_t slice, double fastest) const {
  const std::int64_t ranks = predictor_->ranks();
  const auto bytes = static_cast<double>(slice * predictor_->part().gradient_element().count());
  const MachineProfile& profile = predictor_->costs().profile();
  const std::int64_t hosts = hosts_of_plans(profile, ranks, pulls_ ? Gather::host : Gather::fabric);
  if (summing_hosts(ranks, hosts) == 1) return bytes * static_cast<double>(ranks - 1) / fastest;
  const Fabric fabric = required_fabric(profile);
  const auto seconds = [&](Collective operation, std::int64_t slices) {
    return bytes * static_cast<double>(slices) / fastest_rate(fabric, operation).value.count();
  };
  return seconds(Collective::exchange_inside, ranks - hosts) +
         seconds(Collective::exchange_between, hosts - 1);
}

/// A rank's collectives hold the fabric one after the other, none for less than its bytes take at
/// the fabric's highest rate.
void PlanRelaxation::time_collectives() {
  const ProfileCostModel& costs = predictor_->costs();
  const Job& job = predictor_->part();
  const auto ranks = predictor_->ranks();
  const double fastest = costs.fabric_links().front().capacity.count();
  for (std::size_t kind = 0; kind < 3; ++kind) {
    const auto received = static_cast<double>(slices_[kind] * (ranks - 1));
    gathers_[kind] = received * static_cast<double>(job.weight_element().count()) / fastest;
    exchanges_[kind] = exchange_seconds(slices_[kind], fastest);
    const Bytes bytes(job.weight_element() * (slices_[kind] * (ranks - 1)));
    const TaskCost gather = costs.collective(collective_key(Collective::gather, ranks, bytes),
                                             Collective::gather, bytes);
    gathers_[kind] =
        std::max(gathers_[kind], (gather.amount / gather.cap + gather.latency).count());
  }
}

/// Keeps the choices that pins leave as they are. Pins set fields to values, each by itself.
void PlanRelaxation::allow(const Pins& pins) {
  const Job& job = predictor_->part();
  const std::size_t head = unit_count(job.model) - 1;
  for (std::int64_t rounds = 1; rounds <= job.micro_batches(); ++rounds) {
    if (job.micro_batches() % rounds != 0) continue;
    Plan plan = predictor_->plan_of({}, rounds);
    if (pins) pins(plan);
    if (plan.rounds == rounds && plan.micro_batches_per_round * rounds == job.micro_batches()) {
      rounds_.push_back(rounds);
    }
  }
  const auto stays = [&](std::size_t unit, auto same) {
    // Blocks may be pinned one by one: a choice that any of them may make is allowed for all.
    const std::size_t last = unit == 1 ? head - 1 : unit;
    if (!pins) return true;
    Plan plan = predictor_->plan_of({}, 1);
    for (std::size_t i = unit; i <= last; ++i) same(plan.units[i], nullptr);
    pins(plan);
    for (std::size_t i = unit; i <= last; ++i) {
      bool kept = false;
      same(plan.units[i], &kept);
      if (kept) return true;
    }
    return false;
  };
  for (const Tier tier : {Tier::hbm, Tier::host}) {
    for (const Keep keep : {Keep::input, Keep::selective, Keep::all}) {
      const bool allowed = stays(1, [&](UnitPlan& unit, bool* kept) {
        if (kept == nullptr) {
          unit.keep = keep;
          unit.keep_tier = tier;
        } else {
          *kept = unit.keep == keep && unit.keep_tier == tier;
        }
      });
      UnitPlan unit;
      unit.keep = keep;
      unit.keep_tier = tier;
      if (allowed) kept_.push_back(unit);
    }
  }
  const std::size_t units[3] = {0, 1, head};
  for (std::size_t kind = 0; kind < 3; ++kind) {
    for (const UnitPlan& placement : all_placements(job, predictor_->ranks())) {
      if (predictor_->residency() == Residency::host && placement.state == Tier::hbm) continue;
      if (placement.executor == Executor::cpu && muon_updates(job, units[kind])) continue;
      const bool allowed = stays(units[kind], [&](UnitPlan& unit, bool* kept) {
        if (kept == nullptr) {
          unit = placement;
        } else {
          *kept = unit.weights == placement.weights && unit.gradients == placement.gradients &&
                  unit.state == placement.state && unit.executor == placement.executor &&
                  unit.when == placement.when && unit.resident == placement.resident &&
                  (!stages_state(placement) || unit.staging == placement.staging);
        }
      });
      if (allowed) placed_[kind].push_back(placement);
    }
  }
  // Resident blocks stand for slots of the weight ring, whatever the pins say of residency.
  std::vector<UnitPlan>& blocks = placed_[1];
  if (!std::all_of(blocks.begin(), blocks.end(), passes_weights)) return;
  for (std::size_t i = 0, count = blocks.size(); i < count; ++i) {
    blocks.push_back(blocks[i]);
    blocks.back().weights = Tier::hbm;
    blocks.back().resident = Extent::whole;
  }
}

}  // namespace sluice::planner
