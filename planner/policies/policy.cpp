#include "planner/policies/policy.hpp"

#include <algorithm>

#include "planner/catalogue/store.hpp"
#include "planner/plans/plan_overrides.hpp"
#include "planner/policies/ml_dataflow.hpp"
#include "planner/policies/policy_file.hpp"
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

PolicyFile find_policy(const RunConfig& config) {
  PolicyFile policy = named_policy(*config.policy);
  // Settings of a policy made of plan fields are those fields.
  for (const auto& [field, value] : config.policy_overrides) {
    try {
      check_plan_override(field, value);
    } catch (const BadRequest& error) {
      throw BadRequest("policy." + field + ": policy " + *config.policy +
                       " is made of plan fields; " + error.what());
    }
    policy.plan[field] = value;
  }
  return policy;
}

bool is_ml_dataflow(const RunConfig& config) { return *config.policy == kMlDataflow; }

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

RunConfig stated_with_policy(RunConfig config) {
  if (!config.policy && !config.policy_overrides.empty()) {
    throw BadRequest("policy." + config.policy_overrides.begin()->first +
                     ": no policy is given that it could be a setting of; add --policy " +
                     kMlDataflow);
  }
  if (!config.policy || is_ml_dataflow(config)) return config;
  const PolicyFile policy = find_policy(config);
  for (const auto& [path, value] : policy.job) set_path(config, path, value);
  return config;
}

Job with_policy(Job job, const RunConfig& config) {
  if (!config.policy || !is_ml_dataflow(config)) return job;
  return ml_dataflow_job(std::move(job), ml_dataflow_columns(config.policy_overrides),
                         to_machine(config).profile);
}

std::vector<std::string> policy_changes(const RunConfig& config) {
  if (!config.policy) return {};
  RunConfig plain = config;
  plain.policy.reset();
  plain.policy_overrides.clear();
  const Job before = to_job(plain), after = to_job(config);
  std::vector<std::string> changes;
  const auto note = [&](bool changed, const std::string& text) {
    if (changed) changes.push_back(text);
  };
  note(before.optimizer.state != after.optimizer.state,
       std::string("optimizer.state ") + to_string(after.optimizer.state));
  note(before.optimizer.clip != after.optimizer.clip,
       after.optimizer.clip ? "optimizer.clip " + std::to_string(*after.optimizer.clip)
                            : "optimizer.clip off");
  note(before.compute != after.compute,
       after.compute == ComputeType::bf16 ? "compute bf16" : "compute fp32");
  note(before.gradient_wire != after.gradient_wire,
       after.gradient_wire == GradientWire::bf16 ? "gradient_wire bf16" : "gradient_wire fp32");
  note(before.batch_size != after.batch_size, "batch_size " + std::to_string(after.batch_size));
  note(before.micro_batch != after.micro_batch, "micro_batch " + std::to_string(after.micro_batch));
  note(before.loss_chunk != after.loss_chunk, "loss_chunk " + std::to_string(after.loss_chunk));
  note(before.mlp_chunk != after.mlp_chunk, "mlp_chunk " + std::to_string(after.mlp_chunk));
  note(after.sequence_chunk.has_value() && before.sequence_chunk != after.sequence_chunk,
       "sequence_chunk " + std::to_string(after.sequence_chunk.value_or(0)));
  return changes;
}

std::vector<std::string> policy_notes(const RunConfig& config) {
  if (!config.policy) return {};
  std::vector<std::string> notes;
  try {
    for (const std::string& change : policy_changes(config)) {
      const std::string path = change.substr(0, change.find(' '));
      if (!config.stated.contains(path)) continue;
      notes.push_back("policy " + *config.policy + " states " + change +
                      ", which holds over the run's own " + path);
    }
  } catch (const BadRequest&) {
    return {};  // Whoever needs the run whole says what it lacks.
  }
  return notes;
}

PolicyPlan policy_plan(const RunConfig& config, const Job& job) {
  PolicyPlan made;
  if (is_ml_dataflow(config)) {
    made = ml_dataflow_plan(job, ml_dataflow_columns(config.policy_overrides), to_machine(config));
  } else {
    made.plan = plan_of(find_policy(config), job);
    made.plan.threads =
        static_cast<std::int64_t>(std::max(1.0, to_machine(config).profile.cores.value));
  }
  apply_plan_overrides(made.plan, job, config);
  validate(made.plan, job);
  return made;
}

bool has_state_against_residency(const RunConfig& config, const Plan& plan) {
  return config.policy && config.residency == Residency::host &&
         std::ranges::any_of(plan.units,
                             [](const UnitPlan& unit) { return unit.state == Tier::hbm; });
}

void apply_policy_memory(const PolicyPlan& made, Prediction& prediction) {
  if (!made.memory) return;
  prediction.memory = *made.memory;
  prediction.fits =
      std::ranges::all_of(*made.memory, [](const TierMemory& tier) { return tier.fits(); });
}

}  // namespace sluice::planner
