#include "planner/catalogue/replaced_parts.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "planner/machines/profile_file.hpp"

namespace sluice::planner {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const MachineProfile& profile) { return Json::parse(to_json_text(profile)); }

/// Replaces members of `result` that differ between `from` and `to` by those of `to`.
void replace(Json& result, const Json& from, const Json& to) {
  for (const auto& [name, value] : to.items()) {
    if (!from.contains(name) || from.at(name) != value) result[name] = value;
  }
  for (const auto& [name, value] : from.items()) {
    if (!to.contains(name)) result.erase(name);
  }
}

}  // namespace

MachineProfile with_parts(const MachineProfile& measured, const Composition& from,
                          const Composition& to) {
  Json result = json_of(measured), before = json_of(compose(from)), after = json_of(compose(to));
  replace(result["facts"], before["facts"], after["facts"]);
  for (const char* name : {"facts", "schema", "device", "architecture"}) {
    before.erase(name);
    after.erase(name);
  }
  replace(result, before, after);
  return profile_from_json(result.dump(), "machine " + to_text(to));
}

}  // namespace sluice::planner
