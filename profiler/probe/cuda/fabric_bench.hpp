// Measurement of collectives between the GPUs of this host, as training runs them.
#pragma once

#include <vector>

#include "profiler/probe/several_gpus_rates.hpp"

namespace sluice::profiler {

/// Seconds of gathers and exchanges among the first `gpus` GPUs, by bytes received, through the
/// engine's collectives on a thread for each GPU; about `budget` for each size and operation.
/// Throws EnvironmentError where the GPUs cannot be connected (engine::why_no_gpu_fabric).
[[nodiscard]] std::vector<CollectiveSamples> time_collectives(int gpus, Seconds budget);

}  // namespace sluice::profiler
