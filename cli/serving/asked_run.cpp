#include "cli/serving/asked_run.hpp"

#include <algorithm>
#include <regex>
#include <set>

#include "planner/catalogue/known_models.hpp"
#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/parts.hpp"
#include "planner/policies/policy.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::cli {
namespace {

template <class Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> names;
  names.reserve(std::size(items));
  for (const auto& item : items) names.push_back(item.name);
  return names;
}

/// The names that a parameter may have; empty where it takes numbers or sizes.
std::vector<std::string> known_names(const std::string& key) {
  if (key == "model") return names_of(planner::catalogue_models());
  if (key == "machine") return names_of(planner::listed_machines());
  if (key == "gpu") return names_of(planner::gpu_parts());
  if (key == "cpu") return names_of(planner::cpu_parts());
  if (key == "policy") return planner::policy_names();
  if (key == "residency") return {"auto", "host"};
  if (key == "compute") return {"bf16", "fp32", "fp8", "fp8-tensorwise"};
  return {};
}

const std::set<std::string>& keys_of(Question question) {
  static const std::set<std::string> run{
      "model",   "machine",    "gpu",         "cpu",     "ram",   "ssd",
      "seq-len", "batch-size", "micro-batch", "hbm",     "host",  "disk",
      "link",    "residency",  "policy",      "compute", "tokens"};
  static const std::set<std::string> purchase = [] {
    std::set<std::string> all = run;
    all.insert({"budget", "use", "days", "usd-per-kwh", "runs-per-month"});
    all.erase("policy");
    return all;
  }();
  return question == Question::prediction ? run : purchase;
}

void check_value(const std::string& key, const std::string& value) {
  // A number, a size with its unit, a memory kit or a set of drives.
  static const std::regex plain(R"([0-9][0-9A-Za-z ./$]{0,39}|[0-9]+x[0-9A-Za-z -]{1,39})");
  const std::vector<std::string> known = known_names(key);
  if (known.empty()) {
    if (!std::regex_match(value, plain) || value.find("..") != std::string::npos) {
      throw BadRequest(key + ": must be a number, or a size such as 24 GiB");
    }
  } else if (std::ranges::find(known, value) == known.end()) {
    throw BadRequest(key + ": the catalogue has no such name" + sim::did_you_mean(value, known));
  }
}

}  // namespace

std::vector<std::string> run_words(const Query& query, Question question) {
  const std::set<std::string>& keys = keys_of(question);
  std::vector<std::string> words;
  for (const auto& [key, value] : query) {
    if (value.empty()) continue;  // A field that was left empty.
    if (!keys.contains(key)) {
      throw BadRequest("unknown parameter" + sim::did_you_mean(key, {keys.begin(), keys.end()}));
    }
    check_value(key, value);
    words.insert(words.end(), {"--" + key, value});
  }
  return words;
}

}  // namespace sluice::cli
