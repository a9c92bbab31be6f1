#include "planner/predictions/plan_estimate.hpp"

#include <algorithm>

#include "planner/costs/cost_key.hpp"
#include "planner/costs/profile_rates.hpp"
#include "planner/graph/record.hpp"
#include "planner/graph/staged_state.hpp"
#include "planner/models/muon.hpp"
#include "planner/models/slices.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {

struct PlanEstimator::Amounts {
  double compute = 0;         ///< Seconds of the compute lane in a step, device updates included.
  double h2d = 0, d2h = 0;    ///< Bytes that a step copies to the device and from it.
  double forward = 0;         ///< Seconds of the blocks' forward passes.
  double backward = 0;        ///< Seconds of the blocks' backward passes, recomputation included.
  double offloaded = 0;       ///< Bytes of records that go to the host in a step and come back.
  double cpu_parameters = 0;  ///< Number of parameters that the CPU updates in a step.
  /// Number of parameters updated on the CPU for which the next step waits as a whole.
  double blocking_parameters = 0;
  std::int64_t copies = 0;
};

PlanEstimator::PlanEstimator(const Predictor& predictor)
    : predictor_(&predictor),
      record_(block_record(predictor.part())),
      memory_(predictor.part(), predictor.machine(), predictor.ranks()) {
  parameters_ = padded_sizes(predictor.part().model);
  for (const std::int64_t size : parameters_) {
    slices_.push_back(slice_parameters(size, predictor.ranks()));
  }
  for (const UnitSize& size : unit_sizes(predictor.part())) {
    slice_sizes_.push_back(slice_of(size, predictor.ranks()));
  }
  const Bytes large(parameters_[1] * 4);
  const ProfileCostModel& costs = predictor.costs();
  h2d_rate_ =
      costs.copy(copy_key(CopyDirection::h2d, large), CopyDirection::h2d, large).cap.count();
  d2h_rate_ =
      costs.copy(copy_key(CopyDirection::d2h, large), CopyDirection::d2h, large).cap.count();
}

PlanEstimator::Amounts PlanEstimator::amounts(const Plan& plan) const {
  const Job& job = predictor_->part();
  const PassTimes& pass = predictor_->pass_times();
  const ProfileCostModel& costs = predictor_->costs();
  const double micro = static_cast<double>(job.micro_batches());
  const double rounds = static_cast<double>(plan.rounds);
  const auto weight = static_cast<double>(job.weight_element().count());
  const auto wire = static_cast<double>(job.gradient_wire_element().count());
  Amounts sum;
  sum.compute =
      (micro * (pass.embed_forward + pass.loss + pass.embed_backward) + pass.once + pass.group_sums)
          .count();
  double streamed = 0;
  // Bytes of one load of a block's weights; the fewest where some blocks load slices alone.
  const auto block_slice = static_cast<double>(slices_[1]);
  const auto block_whole = static_cast<double>(parameters_[1]);
  double block_bytes = weight * block_whole;
  const std::size_t head = plan.units.size() - 1;
  const auto copies_of = [&](double bytes) {
    const auto chunk = static_cast<double>(plan.copy_chunk.count());
    return 1 + static_cast<std::int64_t>(chunk > 0 ? bytes / chunk : 0);
  };
  for (std::size_t unit = 0; unit <= head; ++unit) {
    const UnitPlan& choice = plan.units[unit];
    const auto n = static_cast<double>(slices_[unit]);
    const auto whole = static_cast<double>(parameters_[unit]);
    const bool block = unit > 0 && unit < head;
    if (block) {
      const Seconds again = choice.keep == Keep::all         ? Seconds(0)
                            : choice.keep == Keep::selective ? pass.mean_recompute_selective
                                                             : pass.mean_recompute_input;
      sum.forward += micro * pass.block_forward.count();
      sum.backward += micro * (pass.block_backward + again).count();
      if (choice.keep_tier == Tier::host) {
        const double kept = micro * static_cast<double>(record_.kept(choice.keep).count());
        sum.offloaded += kept;
        sum.copies += 2 * job.micro_batches() * copies_of(kept / micro);
      }
    }
    const double loaded = pulls_weights(plan, choice) ? whole : n;
    if (streams_weights(choice) && block) {
      streamed += 1;
      block_bytes = std::min(block_bytes, weight * (loaded > n ? block_whole : block_slice));
    } else if (streams_weights(choice)) {
      sum.h2d += weight * loaded * rounds;
    } else if (choice.executor == Executor::cpu) {
      sum.h2d += weight * loaded;
    }
    if (stages_state(choice)) {
      const auto staged = staged_bytes(choice, job, slice_sizes_[unit]);
      sum.h2d += static_cast<double>(staged.count());
      const auto state = static_cast<double>(state_bytes(job, slice_sizes_[unit]).count());
      sum.d2h += state;
      sum.copies += 2 * copies_of(state) + 4;
    }
    if (rotates_gradient(choice)) sum.h2d += wire * n;
    if (stores_gradient(choice)) {
      sum.d2h += n * (rotates_under_backward(choice) ? 0 : wire) + whole * 4 * (rounds - 1);
      sum.h2d += whole * 4 * (rounds - 1);
      sum.copies += copies_of(4 * n) * (2 * plan.rounds - 1);
    }
    if (choice.executor == Executor::cpu) {
      if (choice.gradients == Tier::hbm) sum.d2h += n * wire;
      sum.cpu_parameters += n;
      if (choice.when == When::after) sum.blocking_parameters += n;
    } else if (muon_updates(job, unit)) {
      sum.compute += pass.block_update.count();
    } else {
      Work work;
      work.parameters = slices_[unit];
      work.streamed = job.update_bytes(slices_[unit]);
      work.kernels = 1;
      const TaskCost cost = costs.compute(
          CostKey(CostKind::device_update, "/" + std::to_string(work.parameters)), work);
      sum.compute += (cost.amount / cost.cap).count();
    }
  }
  sum.compute += sum.forward + sum.backward;
  sum.h2d += sum.offloaded;
  sum.d2h += sum.offloaded;
  // The ring still holds up to weight_buffers blocks at each reversal between passes.
  const double reversals = static_cast<double>(
      std::min<std::int64_t>(plan.weight_buffers, static_cast<std::int64_t>(streamed)));
  const double loads = std::max(streamed, rounds * 2 * (streamed - reversals) + reversals);
  sum.h2d += loads * block_bytes;
  sum.copies += static_cast<std::int64_t>(loads) * copies_of(block_bytes);
  return sum;
}

double PlanEstimator::rank_update_rate(const Plan& plan) const {
  return update_rate(predictor_->costs().profile(), plan.threads * plan.ranks).value /
         static_cast<double>(plan.ranks);
}

PlanEstimate PlanEstimator::estimate(const Plan& plan) const {
  const Amounts sum = amounts(plan);
  const Job& job = predictor_->part();
  PlanEstimate estimate{memory_.of(plan)};
  const double rate = rank_update_rate(plan);
  const double h2d = sum.h2d / h2d_rate_;
  const double d2h = sum.d2h / d2h_rate_;
  const double updates = sum.cpu_parameters / rate;
  double bound = std::max({sum.compute, h2d, d2h, predictor_->bound().time.count()});
  // A calibrated update may be faster than the profile's; the machine's own bound then decides.
  const double exposed = sum.blocking_parameters / rate;
  estimate.bound = Seconds(bound);
  // Records leave during the forward passes and come back during the backward passes.
  const double records = std::max(0.0, sum.offloaded / d2h_rate_ - sum.forward) +
                         std::max(0.0, sum.offloaded / h2d_rate_ - sum.backward);
  const double waits = longest_wait(plan, Seconds(sum.compute)).count() + records;
  const double longest = std::max({sum.compute + exposed + waits, h2d, d2h, updates});
  estimate.expected =
      Seconds(std::max(bound, longest) + 0.1 * (h2d + d2h + updates + sum.compute - longest) /
                                             static_cast<double>(plan.prefetch_depth + 1));
  const std::int64_t blocks = job.model.layers * job.micro_batches();
  estimate.tasks = 3 * (3 * blocks + sum.copies + 10 * job.model.layers);
  return estimate;
}

}  // namespace sluice::planner
