#include "planner/graph/kept_forms.hpp"

#include "planner/scratch/cuda_workspace.hpp"

namespace sluice::planner {

Bytes kept_form_bytes(const Job& job, const UnitPlan& unit, std::int64_t layer, std::int64_t rounds,
                      DeviceKind device) {
  const bool keeps = device == DeviceKind::cuda && rounds > 1 && job.computes_in_fp8(layer) &&
                     !passes_weights(unit);
  return keeps ? fp8_weight_bytes(job) : Bytes(0);
}

}  // namespace sluice::planner
