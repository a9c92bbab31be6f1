// What the relaxation's limits speak of, and their names.
#include <algorithm>

#include "planner/plan_relaxation.hpp"

namespace sluice::planner {

StepPart part_of(Limit limit) {
  if (limit < Limit::first_forward) return StepPart::whole;
  if (limit < Limit::later_forward) return StepPart::first_forward;
  if (limit < Limit::first_backward) return StepPart::later_forward;
  if (limit < Limit::later_backward) return StepPart::first_backward;
  if (limit < Limit::last_backward) return StepPart::later_backward;
  return limit < Limit::hbm_at_loss ? StepPart::last_backward : StepPart::memory;
}

double times_in_step(StepPart part, std::int64_t rounds) {
  switch (part) {
    case StepPart::later_forward:
      return static_cast<double>(rounds - 1);
    case StepPart::later_backward:
      return static_cast<double>(std::max<std::int64_t>(0, rounds - 2));
    case StepPart::last_backward:
      return rounds > 1 ? 1 : 0;
    default:
      return 1;
  }
}

const char* to_string(Limit limit) {
  constexpr const char* kNames[kLimits] = {"compute",
                                           "h2d",
                                           "d2h",
                                           "cpu",
                                           "dram",
                                           "cores",
                                           "embed_cycle",
                                           "first_forward",
                                           "embed_chain",
                                           "block_chain",
                                           "updates",
                                           "refresh",
                                           "update_dram",
                                           "update_cores",
                                           "first_stores",
                                           "first_dram",
                                           "later_forward",
                                           "later_stores",
                                           "first_backward",
                                           "first_loads",
                                           "later_backward",
                                           "later_loads",
                                           "last_backward",
                                           "last_loads",
                                           "hbm_at_loss",
                                           "hbm_at_backward",
                                           "hbm_at_norm",
                                           "hbm_across_rounds",
                                           "host_at_loss",
                                           "host_at_norm"};
  return kNames[static_cast<std::size_t>(limit)];
}

}  // namespace sluice::planner
