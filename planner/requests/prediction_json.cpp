#include "planner/requests/prediction_json.hpp"

#include <nlohmann/json.hpp>

#include "planner/predictions/limited_by.hpp"
#include "planner/requests/basis_json.hpp"
#include "planner/requests/run_needs_json.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

constexpr int kIndent = 1;

Json to_json(const Memory& memory) {
  Json all = Json::object();
  for (const Tier tier : {Tier::hbm, Tier::host, Tier::disk}) {
    const TierMemory& used = at(memory, tier);
    Json parts = Json::object();
    for (const auto& [part, bytes] : used.parts) parts[part] = bytes.count();
    all[to_string(tier)] = {{"peak_bytes", used.peak.count()},
                            {"capacity_bytes", used.capacity.count()},
                            {"parts", parts}};
  }
  return all;
}

Json to_json(const StallTimes& stalls) {
  Json all = Json::object();
  for (std::size_t i = 0; i < kStalls; ++i) {
    all[to_string(static_cast<Stall>(i))] = to_seconds(stalls.idle[i]).count();
  }
  return all;
}

Json to_json(const std::vector<Remedy>& remedies) {
  Json all = Json::array();
  for (const Remedy& remedy : remedies) {
    all.push_back({{"what", remedy.what},
                   {"setting", remedy.setting},
                   {"changes_bits", remedy.changes_bits},
                   {"step_s", to_seconds(remedy.step).count()}});
  }
  return all;
}

Json bounds_json(const Bound& bound) {
  Json bounds = Json::object();
  for (std::size_t i = 0; i < kBounds; ++i) {
    bounds[to_string(static_cast<BoundBy>(i))] = bound.each[i].count();
  }
  return bounds;
}

void add_shortage(Json& json, Tier tier, Bytes bytes, const std::vector<Remedy>& remedies) {
  json["tier"] = to_string(tier);
  json["short_bytes"] = bytes.count();
  json["remedies"] = to_json(remedies);
}

}  // namespace

Json plan_json(const Plan& plan) {
  PlanFile file;
  file.plan = plan;
  Json json = Json::parse(to_json_text(file));
  for (const char* key : {"schema", "job_hash", "profile_hash", "numerics_id", "layout"}) {
    json.erase(key);
  }
  return json;
}

Json prediction_json(const Prediction& p) {
  Json busy = Json::object();
  for (const auto& [lane, share] : p.busy) busy[lane] = share;
  Json json = {{"version", 1},
               {"parameters", p.parameters},
               {"fits", p.fits},
               {"step_s", to_seconds(p.step).count()},
               {"step_s_low", p.step_low.count()},
               {"step_s_high", p.step_high.count()},
               {"tokens_per_s", p.tokens_per_s},
               {"model_tflops", p.model_flops.count() / 1e12},
               {"mfu", p.mfu ? Json(*p.mfu) : Json(nullptr)},
               {"bound_s", p.bound.time.count()},
               {"bound_by", to_string(p.bound.by)},
               {"bound_ratio", p.bound_ratio()},
               {"limited_by", limited_by(p).first},
               {"limited_share", limited_by(p).second},
               {"bounds", bounds_json(p.bound)},
               {"memory", to_json(p.memory)},
               {"busy", busy},
               {"compute_s", to_seconds(p.stalls.compute).count()},
               {"stalls", to_json(p.stalls)},
               {"evidence",
                {{"measured", p.evidence.measured},
                 {"fitted", p.evidence.fitted},
                 {"datasheet", p.evidence.datasheet}}},
               {"terms_off", terms_off(p.terms)},
               {"plan", plan_json(p.plan)},
               {"plan_hash", p.plan_hash},
               {"job_hash", p.job_hash},
               {"profile_hash", p.profile_hash},
               {"cost_model_hash", p.cost_model_hash},
               {"numerics_id", p.numerics_id}};
  for (const Duration step : p.cycle) json["step_cycle_s"].push_back(to_seconds(step).count());
  return json;
}

namespace {

Json with_shortage(const Prediction& prediction, const std::vector<Remedy>& remedies) {
  Json json = prediction_json(prediction);
  if (const auto shortage = shortage_of(prediction.memory)) {
    add_shortage(json, shortage->first, shortage->second, remedies);
  }
  return json;
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

}  // namespace

std::string to_json_text(const Prediction& prediction, const std::vector<Remedy>& remedies) {
  return with_shortage(prediction, remedies).dump(kIndent) + "\n";
}

std::string to_json_text(const Prediction& prediction, const std::vector<Remedy>& remedies,
                         const RunNeeds& needs, const RunMoney& money,
                         const std::optional<PaddedVocabulary>& padding,
                         const Explained& explained) {
  Json json = with_shortage(prediction, remedies);
  json["phases"] = phases_json(needs.phases);
  json["checkpoint_bytes"] = needs.checkpoint.count();
  json["ssd_wear"] = needs.wear ? wear_json(*needs.wear) : Json(nullptr);
  json["gpus"] = needs.gpus;
  json["nearest_case"] = needs.nearest_case;
  json["days"] = or_null(money.days);
  json["buy_usd"] = or_null(money.buy_usd);
  json["rent_usd_per_hour"] = or_null(money.rent_usd_per_hour);
  json["rent_usd"] = or_null(money.rent_usd);
  json["price_date"] = money.price_date.empty() ? Json(nullptr) : Json(money.price_date);
  json["rent_date"] = money.rent_date.empty() ? Json(nullptr) : Json(money.rent_date);
  if (padding) {
    json["padded_vocabulary"] = {{"tokens", padding->tokens},
                                 {"padded", padding->padded},
                                 {"step_s", padding->step.count()},
                                 {"gain", padding->gain},
                                 {"beside", ratio_json(padding->ratio)}};
  }
  if (explained.basis) json["basis"] = basis_json(prediction);
  if (explained.beside) json["beside"] = ratio_json(*explained.beside);
  if (!explained.scaling.empty()) json["scaling"] = Json::parse(explained.scaling);
  return json.dump(kIndent) + "\n";
}

std::string to_json_text(const Infeasible& infeasible) {
  Json json = {{"version", 1}, {"fits", false}};
  if (const auto& known = infeasible.known) {
    json["parameters"] = known->parameters;
    json["bound_s"] = known->bound.time.count();
    json["bound_by"] = to_string(known->bound.by);
    json["bounds"] = bounds_json(known->bound);
    json["job_hash"] = known->job_hash;
    json["profile_hash"] = known->profile_hash;
    json["cost_model_hash"] = known->cost_model_hash;
    json["numerics_id"] = known->numerics_id;
  }
  add_shortage(json, infeasible.tier, infeasible.short_by, infeasible.remedies);
  json["memory"] = to_json(infeasible.memory);
  return json.dump(kIndent) + "\n";
}

}  // namespace sluice::planner
