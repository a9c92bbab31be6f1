#include "planner/requests/kept_planned.hpp"

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

/// The file of the request's search; none where nothing is to be kept.
std::optional<std::filesystem::path> planned_file(const Request& request) {
  constexpr std::size_t kNameDigits = 24;
  const auto program = built_program();
  const bool is_plain = request.config.terms == CostSwitches{} && !request.policy;
  if (!program || !is_plain || request.search.until.is_set()) return std::nullopt;
  CanonicalText key("sluice-kept-search 1");
  key.add("program", *program).add("search", search_key(request));
  return request.store.root() / "advice" /
         ("search-" + key.hash().substr(0, kNameDigits) + ".json");
}

Planned to_planned(const Json& json, const Request& request, const std::string& where) {
  PlanFile file = plan_file_from_json(json.at("plan").get<std::string>(), where);
  check_plan_for(file, request.job());
  Planned planned{.best = request.predictor.predict(file.plan)};
  planned.space_log10 = json.at("space_log10").get<double>();
  planned.considered = json.at("considered").get<std::int64_t>();
  planned.simulated = json.at("simulated").get<std::int64_t>();
  planned.optimality_gap = json.at("optimality_gap").get<double>();
  planned.bound = Seconds(json.at("bound").get<double>());
  planned.relaxed_bound = Seconds(json.at("relaxed_bound").get<double>());
  planned.leaves_rings_out = json.at("leaves_rings_out").get<bool>();
  if (const Json& other = json.at("other_gather"); !other.is_null()) {
    planned.other_gather = Duration(other.get<std::int64_t>());
  }
  return planned;
}

}  // namespace

std::optional<std::string> built_program() {
  const std::string built(commit());
  if (built.empty() || built.back() == '+' || built == "unknown") return std::nullopt;
  return std::string(version()) + " " + built;
}

std::optional<Planned> kept_planned(const Request& request) {
  const auto path = planned_file(request);
  std::error_code absent;
  if (!path || !std::filesystem::exists(*path, absent)) return std::nullopt;
  try {
    const Json json = Json::parse(read_whole_file(*path));
    Planned planned = to_planned(json, request, path->string());
    const Prediction& p = planned.best.prediction;
    if (!p.fits || p.step.count() != json.at("step").get<std::int64_t>()) return std::nullopt;
    return planned;
  } catch (const std::exception&) {
    return std::nullopt;  // Cut short or another format: it is searched for and written again.
  }
}

void keep_planned(const Request& request, const Planned& found) {
  const auto path = planned_file(request);
  if (!path) return;
  const Prediction& p = found.best.prediction;
  const Json json = {
      {"plan", to_json_text(to_plan_file(p))},
      {"step", p.step.count()},
      {"space_log10", found.space_log10},
      {"considered", found.considered},
      {"simulated", found.simulated},
      {"optimality_gap", found.optimality_gap},
      {"bound", found.bound.count()},
      {"relaxed_bound", found.relaxed_bound.count()},
      {"leaves_rings_out", found.leaves_rings_out},
      {"other_gather", found.other_gather ? Json(found.other_gather->count()) : Json(nullptr)}};
  try {
    write_whole_file(*path, json.dump() + "\n");
  } catch (const EnvironmentError&) {
    // A search does not need the store.
  }
}

}  // namespace sluice::planner
