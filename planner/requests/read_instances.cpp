#include "planner/requests/read_instances.hpp"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "planner/catalogue/cluster.hpp"
#include "planner/catalogue/parts.hpp"
#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

[[noreturn]] void refuse(const std::string& where, const std::string& reason) {
  throw BadRequest(where + ": " + reason);
}

/// Fields of an instance that a price file must state.
const std::vector<std::string>& needed_keys() {
  static const std::vector<std::string> keys = {"gpu",          "gpus", "gib",    "vcpus",
                                                "usd_per_hour", "date", "address"};
  return keys;
}

template <class T>
T positive(const YAML::Node& node, const std::string& where) {
  T value = 0;
  try {
    value = node.as<T>();
  } catch (const YAML::Exception&) {
    refuse(where, "must be a number above 0");
  }
  if (!std::isfinite(static_cast<double>(value)) || value <= 0) refuse(where, "must be above 0");
  return value;
}

void set_field(Instance& instance, const std::string& key, const YAML::Node& value,
               const std::string& field) {
  if (key == "gpu") {
    instance.gpu = find_gpu(value.as<std::string>(), field).name;
  } else if (key == "gpus") {
    instance.gpus = positive<std::int64_t>(value, field);
  } else if (key == "gib") {
    instance.gib = positive<std::int64_t>(value, field);
  } else if (key == "vcpus") {
    instance.vcpus = positive<std::int64_t>(value, field);
  } else if (key == "usd_per_hour") {
    instance.usd_per_hour = positive<double>(value, field);
  } else if (key == "date") {
    instance.date = value.as<std::string>();
  } else if (key == "address") {
    instance.address = value.as<std::string>();
  } else if (key == "specification") {
    instance.specification = value.as<std::string>();
  } else if (key == "nic") {
    instance.nic = value.as<std::string>();
    (void)parse_nic(instance.nic, field);
  } else {
    std::vector<std::string> keys = needed_keys();
    keys.insert(keys.end(), {"specification", "nic"});
    refuse(field, "unknown key" + sim::did_you_mean(key, keys));
  }
}

Instance read_instance(const YAML::Node& node, const std::string& where) {
  if (!node.IsMap())
    refuse(where, "must be a map such as {gpu: h100-sxm, gpus: 8, gib: 2048, ...}");
  Instance instance;
  std::set<std::string> stated;
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>();
    set_field(instance, key, entry.second, where + "." + key);
    stated.insert(key);
  }
  for (const std::string& key : needed_keys()) {
    if (stated.contains(key)) continue;
    const bool is_proof = key == "date" || key == "address";
    refuse(where, key + " is missing" +
                      (is_proof ? ": say when the rent was read, and on which page" : ""));
  }
  for (const std::string* page : {&instance.address, &instance.specification}) {
    if (page->empty() || page->starts_with("https://") || page->starts_with("http://")) continue;
    refuse(where, "\"" + *page + "\" is no address of a page: write https://...");
  }
  return instance;
}

}  // namespace

std::map<std::string, Instance> read_instances(const YAML::Node& section,
                                               const std::string& where) {
  if (!section.IsMap()) refuse(where, "must be a map of names");
  std::map<std::string, Instance> all;
  for (const auto& entry : section) {
    const auto name = entry.first.as<std::string>();
    try {
      all[name] = read_instance(entry.second, where + "." + name);
    } catch (const YAML::Exception& error) {
      refuse(where + "." + name, error.msg);
    }
  }
  return all;
}

}  // namespace sluice::planner
