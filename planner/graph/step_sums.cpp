#include "planner/graph/step_sums.hpp"

#include "planner/models/slices.hpp"

namespace sluice::planner {

StepSums step_sums(const Job& part, std::int64_t ranks) {
  StepSums sums;
  const auto add = [&sums](std::int64_t doubles) {
    const StepSums::Part added{sums.run, Bytes(8 * doubles)};
    sums.run += added.bytes;
    return added;
  };
  for (std::size_t unit = 0; unit < unit_count(part.model); ++unit) {
    const std::int64_t slice = slice_parameters(unit_padded_size(part.model, unit), ranks);
    sums.norm_blocks.push_back(add((slice + kNormBlock - 1) / kNormBlock));
  }
  sums.losses = add(part.micro_batches());
  if (part.router_aux_loss_coef) sums.balance_losses = add(part.micro_batches());
  return sums;
}

}  // namespace sluice::planner
