#include "planner/policies/policy_file.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <set>
#include <type_traits>

#include "planner/files/yaml_document.hpp"
#include "planner/plans/plan_choices.hpp"
#include "planner/plans/plan_overrides.hpp"
#include "planner/runs/paths.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"
#include "sim/units_text.hpp"

namespace sluice::planner {
namespace {

/// Paths of the job that a policy may state: how it is computed, not what is trained.
constexpr std::array kJobPaths = {"micro_batch",   "loss_chunk",      "mlp_chunk",     "compute",
                                  "gradient_wire", "optimizer.state", "optimizer.clip"};

void check_job_field(const std::string& path, const std::string& value) {
  RunConfig scratch;
  set_path(scratch, path, value);
  if (std::ranges::find(kJobPaths, path) != kJobPaths.end()) return;
  std::string all;
  for (const char* known : kJobPaths) all.append(all.empty() ? "" : ", ").append(known);
  throw BadRequest("job." + path + ": is the run's to state; a policy may state " + all);
}

/// Checks a field of embedding and head, which must be one that a layer has.
void check_outer_unit_field(const std::string& name, const std::string& value) {
  const std::string layer = "layers[0].";
  try {
    check_plan_override(layer + name, value);
  } catch (const BadRequest& error) {
    throw BadRequest("ends." + std::string(error.what()).substr(("plan." + layer).size()));
  }
}

class PolicyReader {
 public:
  explicit PolicyReader(const std::string& where) : where_(where) {}

  PolicyFile read(const YAML::Node& root) {
    if (!root.IsMap()) refuse(root, "must hold `key: value` lines");
    PolicyFile policy;
    std::set<std::string> seen;
    for (const auto& item : root) {
      const std::string key = item.first.Scalar();
      if (!seen.insert(key).second) refuse(item.first, key + " is given twice");
      if (key == "name") {
        policy.name = scalar(item.second, key);
      } else if (key == "summary") {
        policy.summary = scalar(item.second, key);
      } else if (key == "job") {
        read_map(item.second, "", policy.job, check_job_field);
      } else if (key == "plan") {
        read_map(item.second, "", policy.plan, check_plan_override);
      } else if (key == "ends") {
        read_map(item.second, "", policy.outer_units, check_outer_unit_field);
      } else if (key == "operators") {
        policy.operators = at_line(item.second, [&] {
          return parse_choice(scalar(item.second, key), key, {Operators::fused, Operators::eager});
        });
      } else if (key == "attention") {
        policy.attention = at_line(item.second, [&] {
          return parse_choice(scalar(item.second, key), key, kAttentionLibraries);
        });
      } else if (key == "passes") {
        read_passes(item.second, policy.passes);
      } else {
        refuse(item.first, key + ": unknown key" +
                               sim::did_you_mean(key, {"name", "summary", "job", "plan", "ends",
                                                       "operators", "attention", "passes"}));
      }
    }
    return policy;
  }

 private:
  using Check = void (*)(const std::string& field, const std::string& value);

  void read_map(const YAML::Node& map, const std::string& prefix,
                std::map<std::string, std::string>& into, Check check) {
    if (!map.IsMap()) refuse(map, "must be a map of its settings");
    for (const auto& item : map) {
      const std::string key = prefix + item.first.Scalar();
      if (item.second.IsMap()) {
        read_map(item.second, key + ".", into, check);
        continue;
      }
      const std::string value = scalar(item.second, key);
      if (!into.emplace(key, value).second) refuse(item.first, key + " is given twice");
      try {
        check(key, value);
      } catch (const BadRequest& error) {
        refuse(item.first, error.what());
      }
    }
  }

  void read_passes(const YAML::Node& list, std::vector<HostPass>& into) const {
    if (!list.IsSequence()) refuse(list, "passes: must be a list of maps");
    for (const YAML::Node& item : list) {
      if (!item.IsMap()) refuse(item, "passes: each must be a map of its settings");
      into.push_back(at_line(item, [&] { return read_pass(item); }));
    }
  }

  HostPass read_pass(const YAML::Node& map) const {
    HostPass pass;
    for (const auto& item : map) {
      const std::string key = item.first.Scalar();
      const std::string value = scalar(item.second, key);
      const std::string where = "passes: " + key;
      if (key == "name") {
        pass.name = value;
      } else if (key == "moment") {
        pass.moment = parse_moment(value, where);
      } else if (key == "over") {
        pass.over = parse_over(value, where);
      } else if (key == "threads") {
        pass.threads = parse_pass_threads(value, where);
      } else if (key == "bytes") {
        pass.bytes_per_parameter = parse_number(value, where);
      } else {
        throw BadRequest(where + ": unknown key" +
                         sim::did_you_mean(key, {"name", "moment", "over", "threads", "bytes"}));
      }
    }
    validate(pass, "passes: ");
    return pass;
  }

  /// The result of `read`, whose errors get the line of `node`.
  template <class Read>
  std::invoke_result_t<Read> at_line(const YAML::Node& node, Read read) const {
    try {
      return read();
    } catch (const BadRequest& error) {
      refuse(node, error.what());
    }
  }

  std::string scalar(const YAML::Node& node, const std::string& key) const {
    if (!node.IsScalar()) refuse(node, key + ": must be one value");
    return node.Scalar();
  }

  [[noreturn]] void refuse(const YAML::Node& node, const std::string& reason) const {
    // An empty file has no lines.
    const int line = std::max(node.Mark().line, 0) + 1;
    throw BadRequest(where_ + ": line " + std::to_string(line) + ": " + reason);
  }

  const std::string& where_;
};

}  // namespace

PolicyFile policy_from_yaml(const std::string& text, const std::string& where) {
  PolicyFile policy;
  read_yaml(text, where, [&](const YAML::Node& root) { policy = PolicyReader(where).read(root); });
  return policy;
}

Plan plan_of(const PolicyFile& policy, const Job& job) {
  Plan plan = uniform_plan(job, UnitPlan{}, job.micro_batches());
  std::map<std::string, std::string> fields = policy.plan;
  for (const auto& [name, value] : policy.outer_units) {
    fields["layers[0]." + name] = value;
    fields["layers[" + std::to_string(plan.units.size() - 1) + "]." + name] = value;
  }
  apply_plan_overrides(plan, job, fields, std::nullopt);
  plan.host_passes = policy.passes;
  return plan;
}

}  // namespace sluice::planner
