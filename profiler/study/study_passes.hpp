// Passes of measured runs with the rest before each, as data in which to find a boost.
#pragma once

#include <filesystem>
#include <string>

#include "planner/graph/step_graph.hpp"
#include "profiler/traces/measured_run.hpp"

namespace sluice::profiler {

/// Appends to `file` a line for each pass with products of at least a quarter of a millisecond:
/// run, cost, rest of the compute lane over the last 35 ms (sim/boost.hpp) at its start, seconds,
/// bytes of element-wise kernels, kernels, and the shares of its time in which copies to the device
/// and from it ran. experiments/prediction_study/passes.py and delays.py read it. Throws
/// EnvironmentError naming the file.
void append_passes(const std::filesystem::path& file, const std::string& name,
                   const planner::StepGraph& graph, const planner::MachineProfile& profile,
                   const MeasuredRun& run);

}  // namespace sluice::profiler
