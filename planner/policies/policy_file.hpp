// A policy as YAML: the job sizes and the plan fields that it states.
#pragma once

#include <map>
#include <string>

#include "planner/runs/run_config.hpp"

namespace sluice::planner {

struct PolicyFile {
  std::string name, summary;
  /// Paths of a run such as "optimizer.state" or "micro_batch", with their values.
  std::map<std::string, std::string> job;
  /// Plan fields, which hold for every layer, with their values.
  std::map<std::string, std::string> plan;
  /// Plan fields of embedding and head where they differ, with their values.
  std::map<std::string, std::string> outer_units;
};

/// Parses a policy. Throws BadRequest naming the line, and the nearest known key.
[[nodiscard]] PolicyFile policy_from_yaml(const std::string& text, const std::string& where);

/// The plan that the policy's fields describe, with equal choices for all layers.
[[nodiscard]] Plan plan_of(const PolicyFile& policy, const Job& job);

/// The built-in policy called `name`; null where there is none.
[[nodiscard]] const PolicyFile* built_in_policy(const std::string& name);
[[nodiscard]] const std::map<std::string, PolicyFile>& built_in_policies();

}  // namespace sluice::planner
