// Choices of units and what each uses in a step: the columns of the relaxation.
#include <algorithm>

#include "planner/cost_key.hpp"
#include "planner/fastest_rates.hpp"
#include "planner/plan_relaxation.hpp"
#include "planner/record.hpp"
#include "planner/staged_state.hpp"

namespace sluice::planner {
namespace {

double& use_of(UseSum& sum, Use use) { return sum[static_cast<std::size_t>(use)]; }

/// Every combination of a unit's residency, executor and time that validate() knows to run.
std::vector<UnitPlan> all_placements(const Job& job) {
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
  }
  UnitPlan resident;
  resident.weights = resident.gradients = resident.state = Tier::hbm;
  resident.executor = Executor::gpu;
  resident.when = When::after;
  all.push_back(resident);
  if (!job.optimizer.clip) {
    resident.when = When::backward;
    all.push_back(resident);
  }
  return all;
}

}  // namespace

PlanRelaxation::PlanRelaxation(const Predictor& predictor, const PlanPins& pins)
    : predictor_(&predictor) {
  const Job& job = predictor.job();
  const std::size_t head = unit_count(job.model) - 1;
  parameters_ = {unit_padded_size(job.model, 0), unit_padded_size(job.model, 1),
                 unit_padded_size(job.model, head)};
  const FastestRates fastest = fastest_rates(job, predictor.costs());
  h2d_rate_ = fastest.h2d;
  d2h_rate_ = fastest.d2h;
  update_rate_ = fastest.update;
  update_cores_ = fastest.update_cores;
  allow(pins);
}

/// What the pins leave. They set fields to values, each by itself: a choice that they change is not
/// theirs.
void PlanRelaxation::allow(const PlanPins& pins) {
  const Job& job = predictor_->job();
  const std::size_t head = unit_count(job.model) - 1;
  for (std::int64_t rounds = 1; rounds <= job.micro_batches(); ++rounds) {
    if (job.micro_batches() % rounds != 0) continue;
    Plan plan = uniform_plan(job, {}, rounds);
    if (pins) pins(plan);
    if (plan.rounds == rounds && plan.micro_batches_per_round * rounds == job.micro_batches()) {
      rounds_.push_back(rounds);
    }
  }
  const auto stays = [&](std::size_t unit, auto same) {
    // Blocks may be pinned one by one: what any of them may do is allowed for all.
    const std::size_t last = unit == 1 ? head - 1 : unit;
    if (!pins) return true;
    Plan plan = uniform_plan(job, {}, 1);
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
    for (const UnitPlan& placement : all_placements(job)) {
      if (predictor_->residency() == Residency::host && placement.state == Tier::hbm) continue;
      const bool allowed = stays(units[kind], [&](UnitPlan& unit, bool* kept) {
        if (kept == nullptr) {
          unit = placement;
        } else {
          *kept = unit.weights == placement.weights && unit.gradients == placement.gradients &&
                  unit.state == placement.state && unit.executor == placement.executor &&
                  unit.when == placement.when;
        }
      });
      if (allowed) placed_[kind].push_back(placement);
    }
  }
}

UseSum PlanRelaxation::record_use(const UnitPlan& unit, std::int64_t rounds) const {
  const Job& job = predictor_->job();
  const PassTimes& pass = predictor_->pass_times();
  const BlockRecord record = block_record(job);
  const auto micro = static_cast<double>(job.micro_batches());
  const double per_round = micro / static_cast<double>(rounds);
  const auto layers = static_cast<double>(job.model.layers);
  UseSum use{};
  const auto kept = static_cast<double>(record.kept(unit.keep).count());
  const double again = unit.keep == Keep::all         ? 0
                       : unit.keep == Keep::selective ? pass.recompute_selective.count()
                                                      : pass.recompute_input.count();
  use_of(use, Use::compute) = use_of(use, Use::tail) = micro * again;
  use_of(use, Use::records) = per_round * kept;
  // The device has one slot for what is rebuilt, as large as the most that any block rebuilds.
  use_of(use, Use::scratch) = (static_cast<double>(record.all_bytes.count()) - kept) / layers;
  if (unit.keep_tier == Tier::hbm) {
    use_of(use, Use::device_records) = per_round * kept;
  } else {
    use_of(use, Use::h2d) = use_of(use, Use::d2h) = micro * kept;
    use_of(use, Use::host_records) = per_round * kept;
    use_of(use, Use::scratch) += kept / layers;
  }
  return use;
}

/// What must follow each other where the CPU updates a unit in `update` seconds.
void PlanRelaxation::add_chain(UseSum& use, std::size_t kind, std::int64_t rounds,
                               double update) const {
  const Job& job = predictor_->job();
  const PassTimes& pass = predictor_->pass_times();
  const std::int64_t micro_batches = job.micro_batches() / rounds;
  const auto per_round = static_cast<double>(micro_batches);
  const double forward = per_round * pass.block_forward.count();
  const auto copy = [&](std::size_t of) {
    return static_cast<double>((job.weight_element() * parameters_[of]).count()) / h2d_rate_;
  };
  if (kind == 0) {
    use_of(use, Use::embed_wait) = update + copy(0);
    const double store =
        static_cast<double>((job.gradient_wire_element() * parameters_[0]).count());
    use_of(use, Use::embed_store) = std::max(0.0, store / d2h_rate_ - pass.embed_norm.count());
  } else if (kind == 1) {
    use_of(use, Use::block_chain) =
        forward + (update + copy(1)) / static_cast<double>(job.model.layers);
  } else {  // The head is the last to be updated, or another unit is.
    use_of(use, Use::last_copy) =
        std::min({copy(2), copy(1) + forward, copy(0) + per_round * pass.embed_forward.count()});
  }
}

UseSum PlanRelaxation::residency_use(const UnitPlan& placed, std::size_t kind,
                                     std::int64_t rounds) const {
  const Job& job = predictor_->job();
  const auto n = static_cast<double>(parameters_[kind]);
  const auto weight = static_cast<double>(job.weight_element().count());
  const std::int64_t parameters = parameters_[kind];
  const auto state = static_cast<double>(
      (job.master_bytes(parameters) + job.moment_bytes(parameters) * 2).count());
  const auto sum = static_cast<double>(job.gradient_element().count());
  // Rates are of fp32 state: fewer bytes take as long as fewer parameters.
  const std::int64_t updated = job.optimizer.state == StateType::fp32
                                   ? parameters
                                   : job.update_bytes(parameters).count() / 28;
  const auto wire = static_cast<double>(job.gradient_wire_element().count());
  const auto times = static_cast<double>(rounds);
  const bool block = kind == 1;
  UseSum use{};
  const bool cpu = placed.executor == Executor::cpu;
  const bool streams = placed.weights == Tier::host;
  if (streams) {
    use_of(use, Use::h2d) += weight * n * (block ? 2 * times : times);
    if (block) {
      use_of(use, Use::streamed) = weight * n;
      use_of(use, Use::scratch) += weight * n / static_cast<double>(job.model.layers);
    }
  } else {
    use_of(use, Use::resident) += placed.state == Tier::hbm ? 0 : weight * n;
    if (cpu) use_of(use, Use::h2d) += weight * n;
  }
  if (cpu) {
    use_of(use, Use::update) = static_cast<double>(updated);
    use_of(use, Use::refresh) = weight * n;
    add_chain(use, kind, rounds, static_cast<double>(updated) / update_rate_);
  } else {
    Work work;
    work.parameters = updated;
    work.streamed = job.update_bytes(parameters);
    work.kernels = 1;
    const TaskCost cost = predictor_->costs().compute(device_update_key(job, parameters), work);
    use_of(use, Use::compute) += (cost.amount / cost.cap).count();
  }
  if (placed.state == Tier::hbm) {
    use_of(use, Use::resident) += state;
  } else {
    use_of(use, Use::host) += state;
  }
  if (stages_state(placed)) {
    const auto staged = static_cast<double>(staged_bytes(placed, job, parameters).count());
    use_of(use, Use::staged) = staged;
    // With two rounds the last of them, by unit, may come after the second loss.
    const double early = rounds > 2 ? 1
                         : block    ? 1 - 1 / static_cast<double>(job.model.layers)
                                    : (kind == 0 ? 1 : 0);
    use_of(use, Use::early_staged) = early * staged;
    use_of(use, Use::h2d) += staged;
    use_of(use, Use::d2h) += state;
  }
  if (placed.gradients == Tier::host) {
    use_of(use, Use::d2h) += n * (wire + sum * (times - 1));
    use_of(use, Use::h2d) += n * sum * (times - 1);
    use_of(use, Use::reloads) += n * sum * (times - 1);
    use_of(use, Use::host_gradients) = n * (rounds > 1 ? sum : wire);
  } else {
    if (cpu) use_of(use, Use::d2h) += n * wire;
    if (job.optimizer.clip || stages_state(placed)) use_of(use, Use::waiting) = sum * n;
  }
  add_slots(use, placed, kind, rounds);
  return use;
}

/// Device slots of streamed embedding and head, and of gradients on their way to the host. Those of
/// all blocks are one slot at least, of which each has a share; embedding and head have one
/// together, as large as the larger.
void PlanRelaxation::add_slots(UseSum& use, const UnitPlan& placed, std::size_t kind,
                               std::int64_t rounds) const {
  const Job& job = predictor_->job();
  const auto n = static_cast<double>(parameters_[kind]);
  if (kind != 1 && placed.weights == Tier::host) {
    // A tied head reads the embedding's weights at every loss; else they come back after a loss
    // that is neither of the first nor of the last round.
    const bool at_loss = kind == 2 || job.model.tied_head || rounds > 2;
    const double weight = static_cast<double>(job.weight_element().count());
    if (at_loss) use_of(use, Use::loss_slots) += weight * n;
  }
  if (placed.gradients != Tier::host || rounds == 1) return;
  // What is used in several rounds keeps its bytes between them.
  const auto smaller = static_cast<double>(std::min(parameters_[0], parameters_[2]));
  const double share = kind == 1 ? n / static_cast<double>(job.model.layers) : n - smaller / 2;
  use_of(use, Use::loss_slots) += static_cast<double>(job.gradient_element().count()) * share;
}

std::vector<UnitChoice> PlanRelaxation::record_choices(std::int64_t rounds) const {
  std::vector<UnitChoice> all;
  for (const UnitPlan& unit : kept_) all.push_back({unit, record_use(unit, rounds)});
  return all;
}

std::vector<UnitChoice> PlanRelaxation::residency_choices(std::size_t unit,
                                                          std::int64_t rounds) const {
  const std::size_t kind = std::min<std::size_t>(unit, 2);
  std::vector<UnitChoice> all;
  for (const UnitPlan& placed : placed_[kind]) {
    all.push_back({placed, residency_use(placed, kind, rounds)});
  }
  return all;
}

UseSum PlanRelaxation::use_of_plan(const Plan& plan) const {
  UseSum sum = base();
  const auto add = [&sum](const UseSum& use) {
    for (std::size_t i = 0; i < kUses; ++i) sum[i] += use[i];
  };
  const std::size_t head = plan.units.size() - 1;
  for (std::size_t unit = 0; unit <= head; ++unit) {
    const std::size_t kind = unit == 0 ? 0 : unit == head ? 2 : 1;
    add(residency_use(plan.units[unit], kind, plan.rounds));
    if (kind == 1) add(record_use(plan.units[unit], plan.rounds));
  }
  return sum;
}

Seconds PlanRelaxation::bound_of(const Plan& plan) const {
  UseSum sum = use_of_plan(plan);
  // Blocks whose weights stay in the ring at a turn between passes are not loaded again; of the
  // whole space those count as resident, here there are at most as many as slots.
  const double saved = static_cast<double>(2 * plan.rounds - 1) *
                       static_cast<double>(plan.weight_buffers * parameters_[1]) *
                       static_cast<double>(predictor_->job().weight_element().count());
  double& down = use_of(sum, Use::h2d);
  down = std::max(0.0, down - std::min(saved, use_of(sum, Use::streamed) *
                                                  static_cast<double>(2 * plan.rounds - 1)));
  return time_of(sum, plan.rounds) * (1 - 1e-9);
}

}  // namespace sluice::planner
