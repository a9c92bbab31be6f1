// Loading of the weights for forward passes: a single copy, on the host or the device as the plan
// says.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/execution/device.hpp"
#include "engine/model_files/state_source.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Function that is told the progress of loading: the number of parameters read so far, and of all.
/// Called from one thread at a time. May be empty.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// Loads a model's weights to where `graph` (planner/graph/forward_graph.hpp) keeps them, piece by
/// piece on all cores: the high halves, and for fp32 compute the low halves, too. In bf16 compute a
/// weight is rounded to the nearest bf16, ties away from zero, as in training. Throws what the
/// source throws.
void load_forward_weights(const planner::Job& job, const planner::StepGraph& graph, Device& device,
                          const StateSource& source, const LoadProgress& progress);

}  // namespace sluice::engine
