// What the relaxation's limits speak of, and their names.
#include "planner/relaxation/limits.hpp"

#include <algorithm>

namespace sluice::planner {

StepPart part_of(Limit limit) {
  if (limit < Limit::first_forward) return StepPart::whole;
  if (limit < Limit::later_forward) return StepPart::first_forward;
  if (limit < Limit::first_backward) return StepPart::later_forward;
  if (limit < Limit::later_backward) return StepPart::first_backward;
  if (limit < Limit::last_backward) return StepPart::later_backward;
  if (limit < Limit::update_span_updates) return StepPart::last_backward;
  if (limit < Limit::refresh) return StepPart::update_span;
  return limit < Limit::hbm_at_loss ? StepPart::copies : StepPart::memory;
}

CopiedIn copied_in(Limit limit) {
  switch (limit) {
    case Limit::refresh:
      return {StepPart::first_forward};
    case Limit::first_stores:
    case Limit::late_stores:
      return {StepPart::first_forward, false};
    case Limit::later_streams:
      return {StepPart::later_forward};
    case Limit::later_stores:
      return {StepPart::later_forward, false};
    case Limit::first_loads:
      return {StepPart::first_backward};
    case Limit::later_loads:
      return {StepPart::later_backward};
    case Limit::last_loads:
      return {StepPart::last_backward};
    case Limit::first_gradients:
      return {StepPart::first_backward, false};
    case Limit::later_gradients:
      return {StepPart::later_backward, false};
    case Limit::last_gradients:
      return {StepPart::last_backward, false};
    case Limit::update_span_loads:
    case Limit::update_span_fetches:
      return {StepPart::update_span};
    case Limit::update_span_stores:
    case Limit::update_span_saves:
      return {StepPart::update_span, false};
    default:
      return {StepPart::whole, limit != Limit::all_stores};
  }
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
                                           "fabric",
                                           "embed_cycle",
                                           "embed_slowed",
                                           "block_cycle",
                                           "first_forward",
                                           "first_forward_h2d",
                                           "first_forward_d2h",
                                           "embed_chain",
                                           "chain_slowed",
                                           "block_chain",
                                           "updates",
                                           "update_dram",
                                           "update_cores",
                                           "first_dram",
                                           "ring_chain",
                                           "late_chain",
                                           "later_forward",
                                           "later_forward_h2d",
                                           "later_forward_d2h",
                                           "first_backward",
                                           "first_backward_h2d",
                                           "first_backward_d2h",
                                           "later_backward",
                                           "later_backward_h2d",
                                           "later_backward_d2h",
                                           "later_backward_slots",
                                           "last_backward",
                                           "last_backward_h2d",
                                           "last_backward_d2h",
                                           "update_span_updates",
                                           "update_span_dram",
                                           "refresh",
                                           "first_stores",
                                           "later_streams",
                                           "later_stores",
                                           "late_stores",
                                           "first_loads",
                                           "later_loads",
                                           "last_loads",
                                           "first_gradients",
                                           "later_gradients",
                                           "last_gradients",
                                           "update_span_loads",
                                           "update_span_fetches",
                                           "update_span_stores",
                                           "update_span_saves",
                                           "all_loads",
                                           "all_stores",
                                           "hbm_at_loss",
                                           "hbm_at_backward",
                                           "hbm_at_norm",
                                           "hbm_across_rounds",
                                           "hbm_beside_embed",
                                           "host_at_loss",
                                           "host_at_norm",
                                           "gradient_slots",
                                           "gradients_few",
                                           "gradients_many"};
  return kNames[static_cast<std::size_t>(limit)];
}

}  // namespace sluice::planner
