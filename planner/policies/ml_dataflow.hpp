// Policy ml_dataflow: layer-outer streaming with the optimizer and bf16 state on the GPU, as the
// public bench of als244/ml_dataflow plans it.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "planner/machines/resolved_machine.hpp"
#include "planner/models/job.hpp"
#include "planner/policies/given_plan.hpp"

namespace sluice::planner {

/// Settings of the policy ml_dataflow, named as the columns in the tables of its public bench
/// (als244/ml_dataflow). Those that are none follow from the bench's rule.
struct MlDataflowColumns {
  std::optional<std::int64_t> chunk_size, seqs_per_step, num_rounds_per_step;
  std::optional<std::int64_t> total_home_acts, total_dev_acts;
  std::optional<std::int64_t> num_inp_only_saved, num_inp_attn_saved, num_full_saved;
  /// Number of device slots for blocks' weights and for blocks' gradients; no columns of the bench.
  std::optional<std::int64_t> dev_blocks, grad_blocks;
  std::optional<double> host_mem_gb, dev_mem_gb;  ///< Limits of host and of device memory in GiB.
};

/// Reads the columns from the policy's settings, by name. Throws BadRequest naming the nearest
/// column for an unknown one.
[[nodiscard]] MlDataflowColumns ml_dataflow_columns(
    const std::map<std::string, std::string>& settings);

/// `job` as the bench of ml_dataflow runs it: bf16 state, no clipping, chunks of `chunk_size`
/// tokens (16384 on sm_90, else 8192).
[[nodiscard]] Job ml_dataflow_job(Job job, const MlDataflowColumns& columns,
                                  const MachineProfile& machine);
/// The plan that ml_dataflow makes for `job`, with the memory that it takes by the bench's own
/// rule.
[[nodiscard]] GivenPlan ml_dataflow_plan(const Job& job, const MlDataflowColumns& columns,
                                         const ResolvedMachine& machine);

}  // namespace sluice::planner
