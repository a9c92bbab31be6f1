// Uses amount(use, c) of residencies, and of whole plans: columns of the relaxation.
#include <algorithm>

#include "planner/costs/cost_key.hpp"
#include "planner/graph/kept_forms.hpp"
#include "planner/graph/unit_memory.hpp"
#include "planner/models/muon.hpp"
#include "planner/relaxation/plan_relaxation.hpp"

namespace sluice::planner {
namespace {

/// Number of blocks of the plan whose gradients go to the host.
std::int64_t streamed_gradients(const Plan& plan) {
  return std::count_if(plan.units.begin() + 1, plan.units.end() - 1, stores_gradient);
}

}  // namespace

/// Adds what must follow each other where the CPU updates a unit in `update` seconds.
void PlanRelaxation::add_chain(UseSum& use, std::size_t kind, std::int64_t rounds,
                               double update) const {
  const Job& job = predictor_->part();
  const PassTimes& pass = predictor_->pass_times();
  const std::int64_t micro_batches = job.micro_batches() / rounds;
  const auto per_round = static_cast<double>(micro_batches);
  const double forward = per_round * pass.least_block_forward.count();
  const auto copy = [&](std::size_t of) {
    // Other units may be resident, and then load no more than their slice.
    const double parameters = of == kind ? loaded(of) : static_cast<double>(slices_[of]);
    return static_cast<double>(job.weight_element().count()) * parameters / h2d_rate_;
  };
  const auto store = [&](std::size_t of) {
    return static_cast<double>((job.gradient_wire_element() * slices_[of]).count()) / d2h_rate_;
  };
  if (kind == 0) {
    use_of(use, Use::embed_wait) = update + copy(0);
    // With clipping the norm is waited for while the gradient is stored.
    const double beside = job.optimizer.clip ? pass.embed_norm.count() : 0;
    use_of(use, Use::embed_store) = std::max(0.0, store(0) - beside);
    use_of(use, Use::between) = update;
  } else if (kind == 1) {
    use_of(use, Use::block_chain) =
        forward + (update + copy(1)) / static_cast<double>(job.model.layers);
    const double transfers = std::min(store(0), store(1)) + std::min(copy(0), copy(1));
    use_of(use, Use::between) = (update + transfers) / static_cast<double>(job.model.layers);
    use_of(use, Use::block_passes) = block_passes(rounds);
  } else {  // The head is the last to be updated, or another unit is.
    use_of(use, Use::last_copy) =
        std::min({copy(2), copy(1) + forward, copy(0) + per_round * pass.embed_forward.count()});
  }
}

/// A layer that computes in FP8 where the job does: neither the first nor the last.
constexpr std::int64_t kFp8Layer = 1;

UseSum PlanRelaxation::residency_use(const UnitPlan& placed, std::size_t kind,
                                     std::int64_t rounds) const {
  const Job& job = predictor_->part();
  // A rank moves its slice of weights and state; passes see whole vectors.
  const auto n = static_cast<double>(slices_[kind]), whole = static_cast<double>(parameters_[kind]);
  const auto weight = static_cast<double>(job.weight_element().count());
  const std::int64_t parameters = slices_[kind], ranks = predictor_->ranks();
  const UnitMemory memory =
      unit_memory(job, placed, rounds, {parameters_[kind], second_[kind]}, ranks);
  const auto bytes = [](Bytes value) { return static_cast<double>(value.count()); };
  const auto sum = static_cast<double>(job.gradient_element().count());
  // Rates are of fp32 state: fewer bytes take as long as fewer parameters.
  const std::int64_t updated = job.optimizer.state == StateType::fp32
                                   ? parameters
                                   : job.update_bytes(parameters).count() / 28;
  const auto wire = static_cast<double>(job.gradient_wire_element().count());
  const auto times = static_cast<double>(rounds);
  const auto group_sums = static_cast<double>(sums_at_loss(rounds));
  const bool block = kind == 1;
  UseSum use{};
  const bool cpu = placed.executor == Executor::cpu;
  const bool streams = placed.weights == Tier::host;
  const double load = weight * loaded(kind);
  if (passes_weights(placed)) {
    // At each reversal of passes the ring still holds its share of the blocks.
    const double again = 1 - 1 / static_cast<double>(job.model.layers);
    const double loads = block ? 1 + (2 * times - 1) * again : times;
    if (streams) use_of(use, Use::h2d) += load * loads;
    if (!(pulls_ && streams)) use_of(use, Use::fabric) += gathers_[kind] * loads;
    if (block) use_of(use, Use::scratch) += weight * whole / static_cast<double>(job.model.layers);
    if (block && streams) {
      use_of(use, Use::streamed) = load;
      const double share = load / static_cast<double>(job.model.layers);
      if (!cpu) use_of(use, Use::refresh) = load - share;
    }
  } else {
    if (cpu) use_of(use, Use::h2d) += load;
    if (!(pulls_ && cpu)) use_of(use, Use::fabric) += gathers_[kind];
  }
  use_of(use, Use::fabric) += exchanges_[kind];
  if (cpu) {
    use_of(use, Use::update) = static_cast<double>(updated);
    use_of(use, Use::refresh) = load;
    add_chain(use, kind, rounds, static_cast<double>(updated) / update_rate_);
  } else if (block && muon_updates(job, 1)) {
    use_of(use, Use::compute) += predictor_->pass_times().block_update.count();
  } else {
    Work work;
    work.parameters = updated;
    work.streamed = job.update_bytes(parameters);
    work.kernels = 1;
    const TaskCost cost = predictor_->costs().compute(device_update_key(job, parameters), work);
    use_of(use, Use::compute) += (cost.amount / cost.cap).count();
  }
  if (block) {
    // As though all blocks computed in FP8: device_fixed takes the forms of those that do not back.
    const Bytes forms =
        kept_form_bytes(job, placed, kFp8Layer, rounds, predictor_->costs().device());
    use_of(use, Use::scratch) += bytes(forms);
  }
  use_of(use, Use::resident) = bytes(memory.resident);
  use_of(use, Use::host) = bytes(memory.host_state);
  if (stages_state(placed)) {
    const double staged = bytes(memory.staged);
    use_of(use, Use::h2d) += staged;
    use_of(use, Use::d2h) += bytes(memory.host_state);
    if (rotates_gradient(placed)) use_of(use, Use::h2d) += n * wire;
    if (rotates_state(placed)) {
      if (rotates_under_backward(placed)) {
        use_of(use, Use::rotated_backward) = staged;
      } else {
        use_of(use, Use::rotated) = staged;
      }
      if (!rotates_under_backward(placed) && !rotates_early(placed, block)) {
        use_of(use, Use::rotated_late) = staged + (rotates_gradient(placed) ? n * wire : 0);
      }
    }
  }
  // Through a ring state takes as little memory as a slot.
  if (stages_state(placed) && !rotates_state(placed)) {
    const double staged = bytes(memory.staged);
    use_of(use, Use::staged) = staged;
    // With two rounds the last unit's staged state may come after the second loss.
    const double early = rounds > 2 ? 1
                         : block    ? 1 - 1 / static_cast<double>(job.model.layers)
                                    : (kind == 0 ? 1 : 0);
    use_of(use, Use::early_staged) = early * staged;
    if (kind == 0) use_of(use, Use::embed_staged) = staged;
  }
  if (placed.gradients == Tier::host) {
    const bool leaves = !rotates_under_backward(placed);
    // A rank's own sum is whole between rounds; what leaves at the end is the slice of all sums.
    use_of(use, Use::d2h) += n * (leaves ? wire : 0) + whole * (sum * (times - 1));
    use_of(use, Use::h2d) += whole * sum * (times - 1);
    const auto smaller = static_cast<double>(std::min(parameters_[0], parameters_[2]));
    const double slot = block ? whole / static_cast<double>(job.model.layers) : whole - smaller / 2;
    use_of(use, Use::reloads) += (whole - slot) * sum * (times - 1);
    if (block && rounds > 1) {
      use_of(use, Use::streamed_gradients) = (whole - slot) * sum;
      if (leaves) {
        use_of(use, Use::leaving_gradients) = (whole - slot) * sum / static_cast<double>(ranks);
      }
    }
    use_of(use, Use::host_gradients) = bytes(memory.host_gradient);
    use_of(use, Use::host_group_sums) = group_sums * sum * whole;
    use_of(use, Use::group_sums) = group_sums * sum * slot;
  } else {
    if (cpu) use_of(use, Use::d2h) += n * wire;
    if (cpu && job.optimizer.clip) use_of(use, Use::late_gradients) = n * wire;
    const double waits = waits_as_slice(ranks, rounds, placed) ? n : whole;
    if (placed.when != When::backward) use_of(use, Use::waiting) = sum * waits;
    if (rounds > 1) use_of(use, Use::summed) = sum * whole;
    use_of(use, Use::group_sums) = group_sums * sum * whole;
  }
  add_slots(use, placed, kind, rounds);
  return use;
}

/// Adds device slots of streamed embedding and head, and of gradients on their way to the host.
/// Blocks have one slot at least, of which each has a share; embedding and head have one together,
/// as large as the larger.
void PlanRelaxation::add_slots(UseSum& use, const UnitPlan& placed, std::size_t kind,
                               std::int64_t rounds) const {
  const Job& job = predictor_->part();
  const auto n = static_cast<double>(parameters_[kind]);
  if (kind != 1 && placed.weights == Tier::host) {
    // A tied head reads the embedding's weights at every loss; else they come back after a loss
    // that is neither of the first nor of the last round.
    const bool at_loss = kind == 2 || job.model.tied_head || rounds > 2;
    const double weight = static_cast<double>(job.weight_element().count());
    if (at_loss) use_of(use, Use::loss_slots) += weight * n;
  }
  if (placed.gradients != Tier::host || rounds == 1) return;
  // Slots that several rounds use keep their bytes between them.
  const auto smaller = static_cast<double>(std::min(parameters_[0], parameters_[2]));
  const double share = kind == 1 ? n / static_cast<double>(job.model.layers) : n - smaller / 2;
  use_of(use, Use::loss_slots) += static_cast<double>(job.gradient_element().count()) * share;
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
  RelaxedNode node;
  node.rounds = plan.rounds;
  node.record_slots = {.least = plan.activation_buffers, .most = plan.activation_buffers};
  for (std::size_t unit = 0; unit <= head; ++unit) {
    const std::size_t kind = unit == 0 ? 0 : unit == head ? 2 : 1;
    add(residency_use(plan.units[unit], kind, plan.rounds));
    if (kind == 1) add(record_use(plan.units[unit], node));
  }
  return sum;
}

RelaxedNode PlanRelaxation::node_of(const Plan& plan) {
  const std::int64_t streamed = streamed_gradients(plan);
  const std::int64_t slots = std::min(plan.gradient_buffers, streamed);
  RelaxedNode node;
  node.rounds = plan.rounds;
  node.proves = true;
  node.gradient_slots = {slots, slots};
  node.gradient_blocks = {streamed, streamed};
  return node;
}

Seconds PlanRelaxation::bound_of(const Plan& plan) const {
  UseSum sum = use_of_plan(plan);
  // Slots that the ring has beyond each block's share save as many loads as resident blocks would,
  // so they count as such.
  const double element = static_cast<double>(predictor_->part().weight_element().count());
  const double block = loaded(1) * element;
  const double whole = static_cast<double>(parameters_[1]) * element / block;
  const double share = 1 / static_cast<double>(predictor_->part().model.layers);
  double& streamed = use_of(sum, Use::streamed);
  const auto passing = static_cast<double>(
      std::count_if(plan.units.begin() + 1, plan.units.end() - 1, passes_weights));
  const double in_ring = passing * block;
  const double slots = std::min(static_cast<double>(plan.weight_buffers) * block, in_ring);
  const double beyond =
      share < 1 ? std::max(0.0, (slots - share * in_ring) / (1 - share)) : in_ring;
  // The slots may all hold blocks that stream over the link.
  const double not_loaded = std::min(beyond, streamed);
  const double reversals = static_cast<double>(2 * plan.rounds - 1);
  use_of(sum, Use::h2d) -= reversals * (1 - share) * not_loaded;
  use_of(sum, Use::fabric) -= reversals * (1 - share) * beyond / block * gathers_[1];
  streamed -= not_loaded;
  use_of(sum, Use::resident) += beyond * whole;
  use_of(sum, Use::scratch) -= share * beyond * whole;
  return time_of(sum, node_of(plan), more_slots(plan)) * (1 - 1e-9);
}

double PlanRelaxation::more_slots(const Plan& plan) const {
  const std::int64_t streamed = streamed_gradients(plan);
  const auto layers = static_cast<double>(predictor_->part().model.layers);
  const auto slots = static_cast<double>(std::min(plan.gradient_buffers, streamed)) -
                     static_cast<double>(streamed) / layers;
  return slots *
         static_cast<double>((predictor_->part().gradient_element() * parameters_[1]).count());
}

}  // namespace sluice::planner
