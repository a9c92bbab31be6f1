// The weights of forward passes, where their plan keeps them: one copy, on the host or the device.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/execution/device.hpp"
#include "engine/model_files/state_source.hpp"
#include "planner/graph/step_graph.hpp"
#include "planner/models/job.hpp"

namespace sluice::engine {

/// Elements read of all; called from one thread at a time. May be empty.
using LoadProgress = std::function<void(std::int64_t done, std::int64_t all)>;

/// Reads a model's weights to where `graph` (planner/graph/forward_graph.hpp) keeps them, piece by
/// piece on all cores: high halves, and low halves too for fp32 compute. In bf16 compute a weight
/// is the bf16 nearest to it, ties away from zero, as in training. Throws what the source throws.
void load_forward_weights(const planner::Job& job, const planner::StepGraph& graph, Device& device,
                          const StateSource& source, const LoadProgress& progress);

}  // namespace sluice::engine
