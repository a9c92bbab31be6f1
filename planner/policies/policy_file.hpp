// A policy in YAML: the sizes of the job and the plan fields that it states.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "planner/models/job.hpp"
#include "planner/plans/host_pass.hpp"
#include "planner/runs/run_config.hpp"

namespace sluice::planner {

/// A policy as its YAML file, or a built-in text, states it.
struct PolicyFile {
  std::string name, summary;
  /// Values that the policy states for the job, by path of a run, such as "optimizer.state" or
  /// "micro_batch".
  std::map<std::string, std::string> job;
  /// Values that the policy states for the plan, by plan field; those of units hold for every
  /// layer.
  std::map<std::string, std::string> plan;
  /// Values by plan field for embedding and head, where they differ from `plan`.
  std::map<std::string, std::string> outer_units;
  /// How the policy's program turns operators into kernels. Sluice predicts eager ones and cannot
  /// execute them.
  Operators operators = Operators::fused;
  /// Library of the program's attention kernels. Sluice predicts those other than cudnn and cannot
  /// execute them.
  AttentionLibrary attention = AttentionLibrary::cudnn;
  /// Passes of the CPU over the model that the program makes between steps.
  std::vector<HostPass> passes;
};

/// Parses a policy's text; messages begin with `where`, the file's name. Throws BadRequest naming
/// the line, and the nearest known key.
[[nodiscard]] PolicyFile policy_from_yaml(const std::string& text, const std::string& where);

/// The plan that the policy's fields describe for `job`, with equal choices for all layers.
[[nodiscard]] Plan plan_of(const PolicyFile& policy, const Job& job);

/// The built-in policy called `name`; null where there is none.
[[nodiscard]] const PolicyFile* built_in_policy(const std::string& name);
/// The built-in policies by name.
[[nodiscard]] const std::map<std::string, PolicyFile>& built_in_policies();

}  // namespace sluice::planner
