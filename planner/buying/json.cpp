#include <nlohmann/json.hpp>

#include "planner/buying/report.hpp"
#include "planner/requests/run_needs_json.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json interval_or_null(const std::optional<RatioInterval>& ratio) {
  return ratio ? ratio_json(*ratio) : Json(nullptr);
}

Json seconds_if(bool known, Duration time) {
  return known ? Json(to_seconds(time).count()) : Json(nullptr);
}

Json to_json(const Range& range) {
  return {{"usual", range.usual}, {"low", range.low}, {"high", range.high}};
}

Json to_json(const RunCost& run) {
  return {{"watts", run.watts ? to_json(*run.watts) : Json(nullptr)},
          {"energy_usd", to_json(run.energy_usd)},
          {"drives_usd", run.drives_usd}};
}

Json to_json(const BoughtOrRented& both) {
  return {{"bought", both.bought},
          {"rented", both.rented},
          {"runs_per_month", both.pays.runs_per_month},
          {"is_capped", both.pays.is_capped},
          {"months", or_null(both.pays.months)},
          {"months_low", or_null(both.pays.months_low)},
          {"months_high", or_null(both.pays.months_high)},
          {"run", to_json(both.pays.run)}};
}

Json to_json(const BuyRow& row) {
  return {{"machine", row.machine},
          {"kind", to_string(row.kind)},
          {"fits", row.fits},
          {"owned", row.owned},
          {"engine", to_string(row.engine)},
          {"is_arm", row.is_arm},
          {"like", row.like.empty() ? Json(nullptr) : Json(row.like)},
          {"rented", row.rented ? Json{{"memory_bytes", row.rented->memory.count()},
                                       {"cores", row.rented->cores}}
                                : Json(nullptr)},
          {"is_beaten", row.is_beaten},
          {"run", to_json(row.run)},
          {"disk_lent_bytes", row.disk_lent ? Json(row.disk_lent->count()) : Json(nullptr)},
          {"step_s", seconds_if(row.fits, row.step)},
          {"step_s_low", seconds_if(row.fits, row.step_low)},
          {"step_s_high", seconds_if(row.fits, row.step_high)},
          {"tokens_per_s", row.fits ? Json(row.tokens_per_s) : Json(nullptr)},
          {"days", or_null(row.days)},
          {"days_low", or_null(row.days_low)},
          {"days_high", or_null(row.days_high)},
          {"price", or_null(row.price)},
          {"price_date", row.price ? Json(row.price_date) : Json(nullptr)},
          {"price_source", row.price ? Json(row.price_source) : Json(nullptr)},
          {"cost", or_null(row.cost)},
          {"buy_usd", or_null(row.buy_usd)},
          {"rent_usd_per_hour", or_null(row.rent_usd_per_hour)},
          {"rent_usd", or_null(row.rent_usd)},
          {"rent_date", row.rent_date.empty() ? Json(nullptr) : Json(row.rent_date)},
          {"limit", row.limit},
          {"limit_share", row.limit_share},
          {"next_limit", row.next_limit},
          {"remedy", row.remedy},
          {"gpus", row.gpus},
          {"devices", row.devices},
          {"devices_note", row.devices_note},
          {"phases", row.phases ? phases_json(*row.phases) : Json(nullptr)},
          {"ssd_wear", row.wear ? wear_json(*row.wear) : Json(nullptr)},
          {"within_days", or_null(row.within_days)},
          {"within_budget", or_null(row.within_budget)},
          {"evidence",
           {{"measured", row.evidence.measured},
            {"fitted", row.evidence.fitted},
            {"datasheet", row.evidence.datasheet}}},
          {"nearest_case", row.nearest_case},
          {"beside_base", interval_or_null(row.beside_base)}};
}

Json to_json(const Upgrade& upgrade) {
  return {{"what", upgrade.what},
          {"setting", upgrade.setting},
          {"orderable", upgrade.orderable},
          {"fits", upgrade.fits},
          {"step_s", seconds_if(upgrade.fits, upgrade.step)},
          {"speedup", or_null(upgrade.speedup)},
          {"speedup_interval", interval_or_null(upgrade.speedup_interval)},
          {"days", or_null(upgrade.days)},
          {"days_saved", or_null(upgrade.days_saved)},
          {"price", or_null(upgrade.price)},
          {"total", or_null(upgrade.total)},
          {"within_budget", or_null(upgrade.within_budget)}};
}

Json to_json(const DevicesWorth& worth) {
  return {{"machine", worth.machine},
          {"devices", worth.pay.devices},
          {"speed", or_null(worth.pay.speed)},
          {"pays_from_tokens", or_null(worth.pay.pays_from)},
          {"most_tried_tokens", worth.pay.most_tried},
          {"cut_short", worth.pay.cut_short}};
}

}  // namespace

std::string to_json_text(const BuyReport& report) {
  Json json = {
      {"version", 1},        {"question", report.question}, {"rows", Json::array()},
      {"base", report.base}, {"upgrades", Json::array()},   {"elasticity", Json::object()}};
  for (const BuyRow& row : report.rows) json["rows"].push_back(to_json(row));
  for (const Upgrade& upgrade : report.upgrades) json["upgrades"].push_back(to_json(upgrade));
  for (const auto& [resource, value] : report.elasticity) json["elasticity"][resource] = value;
  json["break_even"] = report.break_even ? to_json(*report.break_even) : Json(nullptr);
  json["devices"] = report.devices ? to_json(*report.devices) : Json(nullptr);
  json["builds"] = {{"planned", report.builds.planned},
                    {"ruled_out", report.builds.ruled_out},
                    {"open", report.builds.open},
                    {"left_out", Json::array()}};
  for (const LeftOutBuild& one : report.builds.left_out) {
    json["builds"]["left_out"].push_back(
        {{"machine", one.machine}, {"buy_usd", one.usd}, {"lends_drives", one.lends_drives}});
  }
  json["verdict"] = report.verdict;
  return json.dump(1) + "\n";
}

}  // namespace sluice::planner
