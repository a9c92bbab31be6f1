#include "planner/policy_file.hpp"

#include <yaml-cpp/yaml.h>

#include "planner/plan_overrides.hpp"
#include "planner/run_paths.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

class PolicyReader {
 public:
  explicit PolicyReader(const std::string& where) : where_(where) {}

  PolicyFile read(const YAML::Node& root) {
    if (!root.IsMap()) refuse(root, "must hold `key: value` lines");
    PolicyFile policy;
    for (const auto& item : root) {
      const std::string key = item.first.Scalar();
      if (key == "name") {
        policy.name = scalar(item.second, key);
      } else if (key == "summary") {
        policy.summary = scalar(item.second, key);
      } else if (key == "job") {
        read_map(item.second, "", policy.job);
      } else if (key == "plan") {
        read_map(item.second, "", policy.plan);
      } else if (key == "ends") {
        read_map(item.second, "", policy.ends);
      } else {
        refuse(item.first, key + ": unknown key" +
                               sim::did_you_mean(key, {"name", "summary", "job", "plan", "ends"}));
      }
    }
    check_fields(root, policy);
    return policy;
  }

 private:
  void read_map(const YAML::Node& map, const std::string& prefix,
                std::map<std::string, std::string>& into) {
    if (!map.IsMap()) refuse(map, "must be a map of its settings");
    for (const auto& item : map) {
      const std::string key = prefix + item.first.Scalar();
      if (item.second.IsMap()) {
        read_map(item.second, key + ".", into);
      } else if (!into.emplace(key, scalar(item.second, key)).second) {
        refuse(item.first, key + " is given twice");
      }
    }
  }

  void check_fields(const YAML::Node& root, const PolicyFile& policy) const {
    const auto guarded = [&](auto&& body) {
      try {
        body();
      } catch (const BadRequest& error) {
        refuse(root, error.what());
      }
    };
    RunConfig scratch;
    for (const auto& field : policy.job) {
      guarded([&] { set_path(scratch, field.first, field.second); });
    }
    for (const auto* fields : {&policy.plan, &policy.ends}) {
      for (const auto& field : *fields) {
        guarded([&] { check_plan_override(field.first, field.second); });
      }
    }
  }

  std::string scalar(const YAML::Node& node, const std::string& key) const {
    if (!node.IsScalar()) refuse(node, key + ": must be one value");
    return node.Scalar();
  }

  [[noreturn]] void refuse(const YAML::Node& node, const std::string& reason) const {
    throw BadRequest(where_ + ": line " + std::to_string(node.Mark().line + 1) + ": " + reason);
  }

  const std::string& where_;
};

}  // namespace

PolicyFile policy_from_yaml(const std::string& text, const std::string& where) {
  try {
    return PolicyReader(where).read(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    throw BadRequest(where + ": line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

Plan plan_of(const PolicyFile& policy, const Job& job) {
  Plan plan = uniform_plan(job, UnitPlan{}, job.micro_batches());
  RunConfig fields;
  fields.plan_overrides = policy.plan;
  for (const auto& [name, value] : policy.ends) {
    fields.plan_overrides["layers[0]." + name] = value;
    fields.plan_overrides["layers[" + std::to_string(plan.units.size() - 1) + "]." + name] = value;
  }
  apply_plan_overrides(plan, job, fields);
  return plan;
}

}  // namespace sluice::planner
