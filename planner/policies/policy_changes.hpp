// Changes that a policy makes to the job of its run.
#pragma once

#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/policies/policy.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// What the run's policy changed in its job, each text beginning with the path, such as
/// "optimizer.state bf16". `job` is the job with the policy. Empty without a policy.
[[nodiscard]] std::vector<std::string> policy_changes(const RunConfig& config, const Job& job);

/// A line for each of these changes of something that the run states itself; none where the run is
/// not whole yet.
[[nodiscard]] std::vector<std::string> policy_notes(const RunConfig& config, const Policy& policy);

}  // namespace sluice::planner
