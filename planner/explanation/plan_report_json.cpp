#include <nlohmann/json.hpp>

#include "planner/explanation/plan_report.hpp"
#include "planner/requests/prediction_json.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

double count(Duration time) { return to_seconds(time).count(); }

Json relief_json(const Relief& relief, Duration step) {
  return {{"resource", relief.resource},
          {"factor", relief.factor},
          {"step_s", count(relief.step)},
          {"saved_s", count(step - relief.step)},
          {"searched", relief.searched},
          {"coarse", relief.coarse},
          {"beside", relief.ratio ? ratio_json(*relief.ratio) : Json(nullptr)}};
}

Json explanation_json(const PlanExplanation& e) {
  Json parts = Json::object();
  for (std::size_t i = 0; i < kWaterfallTerms; ++i) {
    parts[name_above(static_cast<WaterfallTerm>(i))] = count(e.waterfall.terms[i]);
  }
  Json json = {
      {"bound_by", to_string(e.bound.by)},
      {"bound_s", e.bound.time.count()},
      {"bound_share", e.bound.time / to_seconds(e.step)},
      {"next_bound_by", e.next_bound ? Json(to_string(*e.next_bound)) : Json(nullptr)},
      {"waterfall",
       {{"bound_s", count(e.waterfall.bound)}, {"parts_s", parts}, {"step_s", count(e.step)}}}};
  const Relief* first = e.first();
  json["relax_first"] = first != nullptr ? Json(first->resource) : Json(nullptr);
  json["reliefs"] = Json::array();
  for (const Relief& relief : e.reliefs) json["reliefs"].push_back(relief_json(relief, e.step));
  json["then"] = nullptr;
  if (e.next) {
    json["then"] = {{"relieved", relief_json(e.next->relieved, e.step)},
                    {"resource", e.next->resource.empty() ? Json(nullptr) : Json(e.next->resource)},
                    {"step_s", count(e.next->step)}};
  }
  json["left_out"] = e.left_out;
  return json;
}

Json batch_json(const std::optional<BatchPoint>& point) {
  if (!point) return nullptr;
  Json json = {{"batch_size", point->batch_size}, {"fits", point->fits}};
  if (!point->fits) return json;
  json["step_s"] = count(point->step);
  json["tokens_per_s"] = point->tokens_per_s;
  json["bound_by"] = to_string(point->bound_by);
  json["exposed_share"] = point->exposed;
  return json;
}

Json link_json(const HiddenLink& link) {
  return {{"asked", batch_json(link.asked)},
          {"hidden_from", batch_json(link.hidden)},
          {"exposed_at", batch_json(link.exposed)},
          {"largest_tried", batch_json(link.largest)},
          {"compute_bound_from",
           link.compute_bound_from ? Json(*link.compute_bound_from) : Json(nullptr)},
          {"cut_short", link.cut_short}};
}

Json devices_json(const DevicesPay& pay) {
  return {{"devices", pay.devices},
          {"speed_over_one", pay.speed ? Json(*pay.speed) : Json(nullptr)},
          {"pays_from_tokens", pay.pays_from ? Json(*pay.pays_from) : Json(nullptr)},
          {"most_tokens_tried", pay.most_tried},
          {"cut_short", pay.cut_short}};
}

Json front_json(const ParetoFront& front) {
  Json points = Json::array();
  for (const FrontPoint& point : front.points) {
    points.push_back({{"batch_size", point.batch_size},
                      {"tokens", point.tokens},
                      {"hbm_bytes", point.hbm.count()},
                      {"host_bytes", point.host.count()},
                      {"step_s", count(point.step)},
                      {"tokens_per_s", point.tokens_per_s},
                      {"beside", point.beside ? ratio_json(*point.beside) : Json(nullptr)},
                      {"plan_hash", point.plan_hash},
                      {"plan", plan_json(point.plan)}});
  }
  return {{"axis", to_string(front.axis)}, {"points", points}, {"cut_short", front.cut_short}};
}

}  // namespace

Json sizes_json(const ChosenSizes& sizes) {
  Json trials = Json::array();
  for (const SizeTrial& trial : sizes.trials) {
    trials.push_back({{"micro_batch", trial.micro_batch},
                      {"loss_chunk", trial.loss_chunk},
                      {"step_s", trial.step ? Json(count(*trial.step)) : Json(nullptr)}});
  }
  return {{"micro_batch", sizes.config.micro_batch},
          {"loss_chunk", sizes.config.loss_chunk},
          {"trials", trials}};
}

std::string to_json_text(const PlanReport& report) {
  constexpr int kIndent = 1;
  Json json = prediction_json(report.planned.best.prediction);
  json["space_log10"] = report.planned.space_log10;
  json["considered"] = report.planned.considered;
  json["simulated"] = report.planned.simulated;
  json["optimality_gap"] = report.planned.optimality_gap;
  if (const auto& other = report.planned.other_gather) {
    json["other_gather_step_s"] = count(*other);
  }
  json["policy"] = report.policy ? Json(*report.policy) : Json(nullptr);
  json["explanation"] = explanation_json(report.explanation);
  if (report.sizes) {
    json["free"] = sizes_json(*report.sizes);
    json["free"]["cut_short"] = report.sizes->cut_short;
  }
  if (report.link) json["hide_link"] = link_json(*report.link);
  if (report.devices) json["devices"] = devices_json(*report.devices);
  if (!report.fronts.empty()) {
    json["fronts"] = Json::array();
    for (const ParetoFront& front : report.fronts) json["fronts"].push_back(front_json(front));
  }
  return json.dump(kIndent) + "\n";
}

}  // namespace sluice::planner
