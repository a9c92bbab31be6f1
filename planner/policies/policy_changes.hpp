// Changes that a policy makes to the job of its run.
#pragma once

#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/policies/policy.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// Changes that the run's policy makes to its job, one text each that begins with the path, such as
/// "optimizer.state bf16". `job` is the run's job with its policy. Empty without a policy.
[[nodiscard]] std::vector<std::string> policy_changes(const RunConfig& config, const Job& job);

/// A line for each change that the policy makes to a value that the run states itself. Empty also
/// where the run still lacks something that a job needs.
[[nodiscard]] std::vector<std::string> policy_notes(const RunConfig& config, const Policy& policy);

}  // namespace sluice::planner
