// Job of a run, from what the run states and from its policy.
#pragma once

#include <optional>
#include <vector>

#include "planner/machines/resolved_machine.hpp"
#include "planner/models/job.hpp"
#include "planner/policies/policy.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// One refusal for each of model, seq_len and batch_size that the run does not state; empty if
/// none.
[[nodiscard]] std::vector<Refusal> missing_sizes(const RunConfig& config);
/// Throws BadRequest naming all that is missing of model, seq_len and batch_size.
void require_sizes(const RunConfig& config);

/// What a run's model is read from, as find_model takes it: the kept model, else the stated one.
[[nodiscard]] std::string model_place(const RunConfig& config);

/// The job of a run: finds its model, applies what its policy states for the job, and checks the
/// result. Throws BadRequest naming the field.
[[nodiscard]] Job to_job(const RunConfig& config);
/// The job of a run whose policy has been read. If the policy derives sizes of the job from the
/// machine, the machine is found and stored in `machine`, unless `machine` holds it already.
[[nodiscard]] Job to_job(const RunConfig& config, const std::optional<Policy>& policy,
                         std::optional<ResolvedMachine>& machine);

}  // namespace sluice::planner
