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

[[nodiscard]] std::vector<std::string> policy_names();  ///< Names of the built-in policies.
/// One line that says what the built-in policy `name` does.
[[nodiscard]] std::string policy_summary(const std::string& name);

/// Throws BadRequest with the nearest name unless `name` is a built-in policy or a policy's file.
void require_policy(const std::string& name);

/// The policy of a run, read once: what it changes in the run's job, and the plan that it makes.
class Policy {
 public:
  /// Reads the policy that `config` names, from its file if it is not built in, with the settings
  /// that the run gives it. Throws BadRequest for an unknown policy or setting.
  explicit Policy(const RunConfig& config);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Whether `config` names this policy, with the same settings.
  [[nodiscard]] bool is_of(const RunConfig& config) const;
  /// `config` with the values that the policy states for the job (such as state type, clipping,
  /// micro-batch). They change bits of results, and policy_changes() lists them.
  [[nodiscard]] RunConfig stated(RunConfig config) const;
  /// Whether the policy derives sizes of the job (sequences of a step, micro-batch, chunk) from the
  /// machine.
  [[nodiscard]] bool sizes_job() const { return !fields_; }
  /// How the policy's program turns operators into kernels.
  [[nodiscard]] Operators operators() const;
  /// Library of the attention kernels of the policy's program.
  [[nodiscard]] AttentionLibrary attention() const;
  /// `job` with the sizes that the policy derives from the machine; `job` itself where it derives
  /// none.
  [[nodiscard]] Job sized(Job job, const MachineProfile& machine) const;
  /// The plan that the policy makes for `job`, before the run's pins.
  [[nodiscard]] GivenPlan plan(const Job& job, const ResolvedMachine& machine) const;

 private:
  std::string name_;
  std::map<std::string, std::string> settings_;
  /// Fields of a policy from a file or built in; none for ml_dataflow, which computes its plan.
  std::optional<PolicyFile> fields_;
};

/// Reads the policy that the run names; none where it names none. Throws BadRequest as Policy's
/// constructor does, and where the run has settings of a policy but names none.
[[nodiscard]] std::optional<Policy> policy_of(const RunConfig& config);

/// The plan that `policy`, the policy of the run `config`, makes for `job`, with the run's pins
/// applied. Throws BadRequest.
[[nodiscard]] GivenPlan policy_plan(const RunConfig& config, const Policy& policy, const Job& job,
                                    const ResolvedMachine& machine);
/// Replaces the memory of the layout in `prediction` by `memory`, which a rule of the policy's own
/// computed. Does nothing where `memory` is none.
void apply_policy_memory(const std::optional<Memory>& memory, Prediction& prediction);

}  // namespace sluice::planner
