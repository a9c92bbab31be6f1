#include "planner/policies/policy.hpp"

#include <algorithm>
#include <utility>

#include "planner/files/choice.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/plans/plan_overrides.hpp"
#include "planner/policies/ml_dataflow.hpp"
#include "planner/runs/paths.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kMlDataflow = "ml_dataflow";

bool is_policy_file(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

PolicyFile named_policy(const std::string& name) {
  if (is_policy_file(name)) return policy_from_yaml(read_whole_file(name), name);
  if (const PolicyFile* known = built_in_policy(name)) return *known;
  std::string all;
  for (const std::string& each : policy_names()) all += (all.empty() ? "" : ", ") + each;
  throw BadRequest("policy: \"" + name + "\" is not one of " + all + ", nor a FILE.yaml" +
                   sim::did_you_mean(name, policy_names()));
}

constexpr const char* kAttention = "attention";

/// The library that `policy.attention` names; cudnn where it is not set.
AttentionLibrary attention_of(const std::map<std::string, std::string>& settings) {
  const auto set = settings.find(kAttention);
  if (set == settings.end()) return AttentionLibrary::cudnn;
  return parse_choice(set->second, "policy.attention", kAttentionLibraries);
}

/// The policy's fields, with the run's settings of them.
PolicyFile with_settings(PolicyFile policy, const std::string& name,
                         const std::map<std::string, std::string>& settings) {
  for (const auto& [field, value] : settings) {
    if (field == "operators") {
      policy.operators =
          parse_choice(value, "policy.operators", {Operators::fused, Operators::eager});
      continue;
    }
    if (field == kAttention) {
      policy.attention = attention_of(settings);
      continue;
    }
    try {
      check_plan_override(field, value);
    } catch (const BadRequest& error) {
      throw BadRequest("policy." + field + ": policy " + name + " is made of plan fields; " +
                       error.what());
    }
    policy.plan[field] = value;
  }
  return policy;
}

}  // namespace

std::vector<std::string> policy_names() {
  std::vector<std::string> names{kMlDataflow};
  for (const auto& [name, policy] : built_in_policies()) names.push_back(name);
  return names;
}

std::string policy_summary(const std::string& name) {
  if (name == kMlDataflow) {
    return "layers outer, bf16 state, optimizer on the GPU layer by layer after the last backward";
  }
  const PolicyFile* policy = built_in_policy(name);
  return policy ? policy->summary : "";
}

void require_policy(const std::string& name) {
  if (name != kMlDataflow) static_cast<void>(named_policy(name));
}

Policy::Policy(const RunConfig& config)
    : name_(*config.policy), settings_(config.policy_overrides) {
  if (name_ != kMlDataflow) fields_ = with_settings(named_policy(name_), name_, settings_);
}

bool Policy::is_of(const RunConfig& config) const {
  return config.policy == name_ && config.policy_overrides == settings_;
}

RunConfig Policy::stated(RunConfig config) const {
  if (!fields_) return config;
  for (const auto& [path, value] : fields_->job) set_path(config, path, value);
  return config;
}

Operators Policy::operators() const { return fields_ ? fields_->operators : Operators::fused; }

AttentionLibrary Policy::attention() const {
  return fields_ ? fields_->attention : attention_of(settings_);
}

Job Policy::sized(Job job, const MachineProfile& machine) const {
  if (fields_) return job;
  return ml_dataflow_job(std::move(job), ml_dataflow_columns(settings_), machine);
}

GivenPlan Policy::plan(const Job& job, const ResolvedMachine& machine) const {
  if (!fields_) return ml_dataflow_plan(job, ml_dataflow_columns(settings_), machine);
  GivenPlan made{.plan = {}, .source = PlanSource::policy};
  made.plan = plan_of(*fields_, job);
  made.plan.threads = static_cast<std::int64_t>(std::max(1.0, machine.profile.cores.value));
  return made;
}

std::optional<Policy> policy_of(const RunConfig& config) {
  if (config.policy) return Policy(config);
  if (config.policy_overrides.empty()) return std::nullopt;
  throw BadRequest("policy." + config.policy_overrides.begin()->first +
                   ": no policy is given that it could be a setting of; add --policy " +
                   kMlDataflow);
}

GivenPlan policy_plan(const RunConfig& config, const Policy& policy, const Job& job,
                      const ResolvedMachine& machine) {
  GivenPlan made = policy.plan(job, machine);
  apply_plan_overrides(made.plan, job, config.plan_overrides, config.threads);
  validate(made.plan, job);
  return made;
}

void apply_policy_memory(const std::optional<Memory>& memory, Prediction& prediction) {
  if (!memory) return;
  prediction.memory = *memory;
  prediction.fits =
      std::ranges::all_of(*memory, [](const TierMemory& tier) { return tier.fits(); });
}

}  // namespace sluice::planner
