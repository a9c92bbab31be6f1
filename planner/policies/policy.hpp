// Policies: schedule rules that yield a plan. Peers' schedules are built in by name; others are
// FILE.yaml (docs/policies.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/layout/memory.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// What a policy makes of a run.
struct PolicyPlan {
  Plan plan;
  /// By the peer's own rule, where it has one; otherwise memory is what the layout takes.
  std::optional<Memory> memory;
};

[[nodiscard]] std::vector<std::string> policy_names();
/// One line that says what the built-in policy does.
[[nodiscard]] std::string policy_summary(const std::string& name);

/// Throws BadRequest with the nearest name where `name` is neither a policy nor a file of one.
void require_policy(const std::string& name);

/// The run with what the policy states of its job (state type, clipping, micro-batch): these change
/// bits, and `policy_changes` says each. Throws BadRequest for an unknown policy or setting.
[[nodiscard]] RunConfig stated_with_policy(RunConfig config);
/// What a policy that sizes its job by the machine makes of it: sequences, micro-batch and chunks.
[[nodiscard]] Job with_policy(Job job, const RunConfig& config);
/// "optimizer.state bf16": what the policy made of the job, each beginning with its path.
[[nodiscard]] std::vector<std::string> policy_changes(const RunConfig& config);

/// A line for each of these changes of something that the run states itself; none where the run is
/// not whole yet.
[[nodiscard]] std::vector<std::string> policy_notes(const RunConfig& config);

/// The plan of the run's policy, with the run's pins. `job` is to_job's. Throws BadRequest.
[[nodiscard]] PolicyPlan policy_plan(const RunConfig& config, const Job& job);
/// Whether the run asks for `residency: host` and its policy's plan has state on the device.
[[nodiscard]] bool has_state_against_residency(const RunConfig& config, const Plan& plan);
/// Memory by the policy's own rule in place of the layout's, where it has one.
void apply_policy_memory(const PolicyPlan& made, Prediction& prediction);

}  // namespace sluice::planner
