// Measurement of what a layer runs besides matrix products: attention, memory-bound kernels, the
// optimizer on the device, and the cost of launching.
#pragma once

#include <vector>

#include "planner/machines/machine.hpp"
#include "profiler/probe/cuda/kernel_timer.hpp"
#include "profiler/probe/curves.hpp"

namespace sluice::profiler {

struct AttentionRates {
  /// FLOP/s of attention for each of several usual shapes, in the same order for both passes.
  std::vector<planner::Fact> forward, backward;
  /// Rates of the usual shapes and of longer sequences, sorted by head dimension, then by length.
  std::vector<planner::AttentionPoint> points;
};
/// Measures causal attention of layers of several models as jobs run it, for `budget_each` a shape
/// and pass. `memory` is the rate of element-wise kernels, whose time the points leave out. Shapes
/// that do not fit the device are left out.
[[nodiscard]] AttentionRates measure_attention(Seconds budget_each, BytesPerSecond memory);

/// Measures element-wise kernels and norms over a micro-batch of a large model; a fact in bytes/s
/// for each kind of kernel.
[[nodiscard]] std::vector<planner::Fact> measure_memory_kernels(Seconds budget_each);

/// Measures the optimizer on the device; the fact is in parameters/s.
[[nodiscard]] planner::Fact measure_device_update(Seconds budget);

struct LaunchCosts {
  /// Time for which each kernel of a layer occupies the launching thread.
  planner::MeasuredTime launch;
  planner::MeasuredTime
      kernel;  ///< Time of the device for a kernel that has next to nothing to do.
  planner::MeasuredTime
      event;  ///< Time for which recording an event occupies the launching thread.
};
/// Measures launch costs by the forward pass of a layer so small that only launching takes time.
[[nodiscard]] LaunchCosts measure_launches(Seconds budget);

}  // namespace sluice::profiler
