#include "planner/graph/step_sums.hpp"

#include "planner/models/slices.hpp"
#include "planner/models/unit_classes.hpp"

namespace sluice::planner {

StepSums step_sums(const Job& part, std::int64_t ranks) {
  StepSums sums;
  const auto add = [&sums](std::int64_t doubles) {
    const StepSums::Part added{sums.run, Bytes(8 * doubles)};
    sums.run += added.bytes;
    return added;
  };
  for (const std::int64_t size : padded_sizes(part.model)) {
    const std::int64_t slice = slice_parameters(size, ranks);
    sums.norm_blocks.push_back(add((slice + kNormBlock - 1) / kNormBlock));
  }
  sums.losses = add(part.micro_batches());
  if (part.router_aux_loss_coef) sums.balance_losses = add(part.micro_batches());
  return sums;
}

}  // namespace sluice::planner
