// FP8 forms of blocks' weights that stay in device memory from the first round of a step to its
// last, so that weights that stay there are quantized once a step.
#pragma once

#include <cstdint>

#include "planner/machines/machine.hpp"
#include "planner/models/job.hpp"
#include "planner/plans/plan.hpp"
#include "sim/units.hpp"

namespace sluice::planner {

/// Device bytes of the FP8 forms of block `layer` (counted from 0) that a plan of `rounds` rounds
/// with the choices `unit` for it keeps from its first forward pass of a step to its last backward
/// pass: both forms of each weight, where a CUDA device computes the block in FP8 in several rounds
/// and its weights stay there whole. Other plans keep none, zero bytes, and quantize the block's
/// weights again in each round, in memory that all blocks share (fp8_weight_bytes).
[[nodiscard]] Bytes kept_form_bytes(const Job& job, const UnitPlan& unit, std::int64_t layer,
                                    std::int64_t rounds, DeviceKind device);

}  // namespace sluice::planner
