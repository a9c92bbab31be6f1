// Policies: schedule rules that yield a plan. Peers' schedules are built in by name; others are
// FILE.yaml (docs/policies.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/layout/memory.hpp"
#include "planner/policies/given_plan.hpp"
#include "planner/policies/policy_file.hpp"
#include "planner/predictions/predict.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

[[nodiscard]] std::vector<std::string> policy_names();
/// One line that says what the built-in policy does.
[[nodiscard]] std::string policy_summary(const std::string& name);

/// Throws BadRequest with the nearest name where `name` is neither a policy nor a file of one.
void require_policy(const std::string& name);

/// The policy of a run, read once: its settings of the job, and the plan that it makes.
class Policy {
 public:
  /// Reads the policy that `config` names, from its file if it is not built in, with the run's
  /// settings of it. Throws BadRequest for an unknown policy or setting.
  explicit Policy(const RunConfig& config);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Whether `config` names this policy with these settings.
  [[nodiscard]] bool is_of(const RunConfig& config) const;
  /// The run with what the policy states of its job (state type, clipping, micro-batch): these
  /// change bits, and `policy_changes` says each.
  [[nodiscard]] RunConfig stated(RunConfig config) const;
  /// Whether sequences, micro-batch and chunks depend on the machine.
  [[nodiscard]] bool sizes_job() const { return !fields_; }
  /// The job with the sizes that depend on the machine; the same job where none do.
  [[nodiscard]] Job sized(Job job, const MachineProfile& machine) const;
  /// The policy's plan, without the run's pins.
  [[nodiscard]] GivenPlan plan(const Job& job, const ResolvedMachine& machine) const;

 private:
  std::string name_;
  std::map<std::string, std::string> settings_;
  std::optional<PolicyFile> fields_;  ///< None for ml_dataflow, which computes its plan.
};

/// The policy that the run names; none where it names none. Throws BadRequest as Policy does, and
/// where the run has settings of a policy but names none.
[[nodiscard]] std::optional<Policy> policy_of(const RunConfig& config);

/// The plan of the run's policy, with the run's pins. Throws BadRequest.
[[nodiscard]] GivenPlan policy_plan(const RunConfig& config, const Policy& policy, const Job& job,
                                    const ResolvedMachine& machine);
/// Memory by the policy's own rule in place of the layout's, where it has one.
void apply_policy_memory(const std::optional<Memory>& memory, Prediction& prediction);

}  // namespace sluice::planner
