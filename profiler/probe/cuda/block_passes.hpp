// Measurement of the passes of real blocks, under the load that a step puts on the GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/cuda/products/gemm_table.hpp"
#include "planner/machines/machine.hpp"
#include "profiler/probe/cuda/pass_clock.hpp"
#include "profiler/probe/probed_blocks.hpp"
#include "profiler/probe/sampling.hpp"

namespace sluice::profiler {

struct BlockBudget {
  int rounds;      ///< Visits to each job, all jobs in turn, so that drift affects all alike.
  Seconds settle;  ///< Longest time to wait, once, until clocks are those of a long run.
  Seconds warm;    ///< Time at each visit that is not counted.
  Seconds visit;   ///< Time at each visit that is counted; at least one step is.
};

/// Passes of one job, or the reason why the GPU's libraries refuse it.
struct JobPasses {
  planner::Job job;
  std::vector<planner::MeasuredPass> passes;
  std::string refused;
};

/// Runs steps of two blocks (block_step.hpp) of each of `jobs` with the algorithms of `table`,
/// which must have all their products, and times every pass. Device memory for the largest job is
/// allocated once. The time of a pass whose gradients overwrite in one micro-batch of a step is the
/// mean over a step of BlockStep::kMicroBatches. Throws EnvironmentError where memory fails.
[[nodiscard]] std::vector<JobPasses> measure_block_passes(const std::vector<planner::Job>& jobs,
                                                          const engine::GemmTable& table,
                                                          const BlockBudget& budget,
                                                          const std::string& note);

/// The passes of `samples`, with median times: that of first micro-batches counts as one in
/// BlockStep::kMicroBatches, that of the others as the rest.
[[nodiscard]] std::vector<planner::MeasuredPass> passes_of(const SamplesByKey& samples,
                                                           const std::string& note);

}  // namespace sluice::profiler
