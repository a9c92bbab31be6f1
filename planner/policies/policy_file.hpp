// A policy as YAML: what it states of the job, and the plan's fields.
#pragma once

#include <map>
#include <string>

#include "planner/runs/run_config.hpp"

namespace sluice::planner {

struct PolicyFile {
  std::string name, summary;
  std::map<std::string, std::string> job;   ///< Paths of a run: "optimizer.state", "micro_batch".
  std::map<std::string, std::string> plan;  ///< Fields of the plan, for every layer.
  std::map<std::string, std::string> ends;  ///< Fields of embedding and head where they differ.
};

/// Throws BadRequest naming the line, and the nearest known key.
[[nodiscard]] PolicyFile policy_from_yaml(const std::string& text, const std::string& where);

/// The plan of one UnitPlan for every unit that the fields describe.
[[nodiscard]] Plan plan_of(const PolicyFile& policy, const Job& job);

/// The built-in one, or none.
[[nodiscard]] const PolicyFile* built_in_policy(const std::string& name);
[[nodiscard]] const std::map<std::string, PolicyFile>& built_in_policies();

}  // namespace sluice::planner
