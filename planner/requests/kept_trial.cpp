#include "planner/requests/kept_trial.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "planner/files/hash.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/plans/plan_file.hpp"
#include "planner/requests/kept_search.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/version.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

std::filesystem::path trial_file(const Request& request, const std::string& before) {
  CanonicalText key("sluice-advice-trial 1");
  key.add("version", version())
      .add("commit", commit())
      .add("before", before)
      .add("search", search_key(request));
  constexpr std::size_t kNameDigits = 24;
  return request.store.root() / "advice" / ("trial-" + key.hash().substr(0, kNameDigits) + ".json");
}

Json to_json(const Infeasible& lacking) {
  Json memory = Json::array();
  for (const TierMemory& tier : lacking.memory) {
    memory.push_back({tier.peak.count(), tier.capacity.count()});
  }
  return {{"tier", static_cast<int>(lacking.tier)},
          {"short_by", lacking.short_by.count()},
          {"memory", memory}};
}

Infeasible to_infeasible(const Json& json) {
  Infeasible lacking;
  lacking.tier = static_cast<Tier>(json.at("tier").get<int>());
  lacking.short_by = Bytes(json.at("short_by").get<std::int64_t>());
  for (std::size_t i = 0; i < kTiers; ++i) {
    lacking.memory[i].peak = Bytes(json.at("memory").at(i).at(0).get<std::int64_t>());
    lacking.memory[i].capacity = Bytes(json.at("memory").at(i).at(1).get<std::int64_t>());
  }
  return lacking;
}

Json to_json(const Request& request, const TimedPlan& found) {
  PlanFile file;
  file.job_hash = job_hash(request.job());
  file.profile_hash = profile_hash(request.machine().profile);
  file.plan = found.plan;
  return {{"plan", to_json_text(file)},
          {"step", found.step.count()},
          {"hbm", found.hbm.count()},
          {"host", found.host.count()}};
}

TimedPlan to_plan(const Json& json, const Request& request) {
  PlanFile file = plan_file_from_json(json.at("plan").get<std::string>(), "kept trial");
  check_plan_for(file, request.job());
  return {.plan = std::move(file.plan),
          .step = Duration(json.at("step").get<std::int64_t>()),
          .hbm = Bytes(json.at("hbm").get<std::int64_t>()),
          .host = Bytes(json.at("host").get<std::int64_t>())};
}

}  // namespace

std::optional<Trial> kept_trial(const Request& request, const std::string& before) {
  const std::filesystem::path path = trial_file(request, before);
  std::error_code absent;
  if (!std::filesystem::exists(path, absent)) return std::nullopt;
  try {
    const Json json = Json::parse(read_whole_file(path));
    Trial trial{
        .found = json.contains("found")
                     ? std::variant<TimedPlan, Infeasible>(to_plan(json.at("found"), request))
                     : std::variant<TimedPlan, Infeasible>(to_infeasible(json.at("lacks"))),
        .is_searched = json.at("is_searched").get<bool>()};
    if (json.contains("shortage")) trial.shortage = to_infeasible(json.at("shortage"));
    return trial;
  } catch (const std::exception&) {
    return std::nullopt;  // Cut short or another format: it is tried again.
  }
}

void keep_trial(const Request& request, const std::string& before, const Trial& trial) {
  if (request.search.until.is_set()) return;
  Json json = {{"is_searched", trial.is_searched}};
  if (const auto* found = std::get_if<TimedPlan>(&trial.found)) {
    json["found"] = to_json(request, *found);
  } else {
    json["lacks"] = to_json(std::get<Infeasible>(trial.found));
  }
  if (trial.shortage) json["shortage"] = to_json(*trial.shortage);
  try {
    write_whole_file(trial_file(request, before), json.dump() + "\n");
  } catch (const EnvironmentError&) {
    // Advice does not need the store.
  }
}

}  // namespace sluice::planner
