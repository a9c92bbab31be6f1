// Measures what a layer runs besides matrix products: attention, memory-bound kernels, the
// optimizer on the device, and the cost of launching.
#pragma once

#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/cuda/kernel_timer.hpp"
#include "profiler/probe/curves.hpp"

namespace sluice::profiler {

struct AttentionRates {
  std::vector<planner::Fact> forward, backward;  ///< FLOP/s by usual shape.
  /// Rates of these shapes and of longer sequences, in order.
  std::vector<planner::AttentionPoint> points;
};
/// Measures causal attention of layers of several models, as jobs run it. `memory` is the rate of
/// element-wise kernels, whose time the points leave out. Shapes that do not fit the device are
/// left out.
[[nodiscard]] AttentionRates measure_attention(Seconds budget_each, BytesPerSecond memory);

/// Measures bytes/s of element-wise kernels and norms over a micro-batch of a large model.
[[nodiscard]] std::vector<planner::Fact> measure_memory_kernels(Seconds budget_each);

/// Measures parameters/s of the optimizer on the device.
[[nodiscard]] planner::Fact measure_device_update(Seconds budget);

struct LaunchCosts {
  planner::Fact launch;  ///< Seconds of the launcher for each kernel of a layer.
  planner::Fact kernel;  ///< Seconds of the device for a kernel with next to nothing to do.
  planner::Fact event;   ///< Seconds of the launcher to record an event.
};
/// Measures launch costs by the forward pass of a layer so small that only launching takes time.
[[nodiscard]] LaunchCosts measure_launches(Seconds budget);

}  // namespace sluice::profiler
