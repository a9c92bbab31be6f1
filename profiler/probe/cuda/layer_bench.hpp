// What a layer runs besides matrix products: attention, memory-bound kernels, the optimizer on the
// device, and what launching costs.
#pragma once

#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/cuda/kernel_timer.hpp"
#include "profiler/probe/curves.hpp"

namespace sluice::profiler {

struct AttentionRates {
  std::vector<planner::Fact> forward, backward;  ///< FLOP/s by usual shape.
  std::vector<planner::AttentionPoint> points;   ///< Of these and of longer sequences, in order.
};
/// Causal attention of layers of several models, as jobs run it. `memory`: bytes/s of element-wise
/// kernels, for what the points leave out. Shapes that do not fit the device are left out.
[[nodiscard]] AttentionRates measure_attention(Seconds budget_each, BytesPerSecond memory);

/// Bytes/s of element-wise kernels and norms over a micro-batch of a large model.
[[nodiscard]] std::vector<planner::Fact> measure_memory_kernels(Seconds budget_each);

/// Parameters/s of the optimizer on the device.
[[nodiscard]] planner::Fact measure_device_update(Seconds budget);

struct LaunchCosts {
  planner::Fact launch;  ///< Seconds of the launcher for each kernel of a layer.
  planner::Fact kernel;  ///< Seconds of the device for a kernel with next to nothing to do.
  planner::Fact event;   ///< Seconds of the launcher to record an event.
};
/// From the forward pass of a layer so small that only launching takes time.
[[nodiscard]] LaunchCosts measure_launches(Seconds budget);

}  // namespace sluice::profiler
