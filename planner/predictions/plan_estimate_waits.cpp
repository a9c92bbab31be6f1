// Waits of a step between the norm and the end of its passes, by arithmetic: a timeline of each
// lane alone, from the norm of the step before to this one's, without feedback from delays.
#include <algorithm>

#include "planner/costs/profile_rates.hpp"
#include "planner/graph/staged_state.hpp"
#include "planner/predictions/plan_estimate.hpp"

namespace sluice::planner {
namespace {

/// Instants of the compute lane's passes in seconds after the norm, if nothing had to be waited
/// for.
struct PassInstants {
  double first_forward, block_forward, loss, block_backward, embed_backward, end;

  [[nodiscard]] double forward_of(std::size_t unit) const {
    return unit == 0 ? 0 : first_forward + static_cast<double>(unit - 1) * block_forward;
  }
  /// End of a block's backward pass in the last round.
  [[nodiscard]] double backward_of(std::size_t block) const {
    return end - embed_backward - static_cast<double>(block - 1) * block_backward;
  }
};

}  // namespace

Seconds PlanEstimator::longest_wait(const Plan& plan, Seconds compute) const {
  const Job& job = predictor_->part();
  const PassTimes& pass = predictor_->pass_times();
  const MachineProfile& profile = predictor_->machine().profile;
  const auto micro = static_cast<double>(plan.micro_batches_per_round);
  const PassInstants at{.first_forward = micro * pass.embed_forward.count(),
                        .block_forward = micro * pass.block_forward.count(),
                        .loss = micro * pass.loss.count(),
                        .block_backward = micro * pass.block_backward.count(),
                        .embed_backward = micro * pass.embed_backward.count(),
                        .end = compute.count()};
  const std::size_t head = plan.units.size() - 1;
  const double weight = static_cast<double>(job.weight_element().count());
  double rate = rank_update_rate(plan);
  const bool stages = std::any_of(plan.units.begin(), plan.units.end(), stages_state);
  if (stages && profile.dram.value > BytesPerSecond(0) && profile.update_dram.value > 0) {
    // Stores of state share the host memory with updates.
    const double left = profile.dram.value.count() / static_cast<double>(plan.ranks) -
                        d2h_rate_ * profile.d2h_dram.value;
    rate = std::clamp(left / profile.update_dram.value, rate / 2, rate);
  }
  // Seconds for which the ring moves state when no pass runs.
  double updated = 0, stored = 0, longest = 0, rotated = 0;
  std::vector<double> stored_at(plan.units.size(), 0);
  bool gradients_stream = false;
  for (std::size_t unit = 0; unit <= head; ++unit) {
    const UnitPlan& choice = plan.units[unit];
    const auto n = static_cast<double>(slices_[unit]);
    const auto all = static_cast<double>(state_bytes(job, slice_sizes_[unit]).count());
    gradients_stream = gradients_stream || streams_gradient(plan, choice);
    if (rotates_state(choice)) {
      const double state = all / std::min(h2d_rate_, d2h_rate_);
      if (choice.when == When::after) rotated += state;
    } else if (stages_state(choice)) {
      stored += all / d2h_rate_;
      stored_at[unit] = stored;
    } else if (choice.executor == Executor::cpu && choice.when == When::forward) {
      updated += n / rate;
      longest = std::max(longest, updated + weight * n / h2d_rate_ - at.forward_of(unit));
    }
  }
  if (!stages) return Seconds(longest);
  // Gradients queue behind what is still going back.
  const double backward = at.forward_of(head) + at.loss;
  if (gradients_stream) {
    const double room = static_cast<double>(plan.gradient_buffers) * at.block_backward;
    longest = std::max(longest, stored - backward - room);
  }
  double loaded = 0;
  for (const StagedLoad& load : staged_loads(job, plan)) {
    const Bytes bytes = staged_bytes(plan.units[load.unit], job, slice_sizes_[load.unit]);
    double from = std::max(loaded, stored_at[load.unit]);
    if (const auto block = load.takes_record_of) {
      from = std::max(from, at.backward_of(*block));
      longest = std::max(longest, stored_at[load.unit] - at.forward_of(*block - 1));
    }
    loaded = from + static_cast<double>(bytes.count()) / h2d_rate_;
  }
  return Seconds(std::max(longest, loaded - at.end) + rotated);
}

}  // namespace sluice::planner
