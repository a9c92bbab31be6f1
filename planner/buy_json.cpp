#include <nlohmann/json.hpp>

#include "planner/buy.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json seconds_if(bool known, Duration time) {
  return known ? Json(to_seconds(time).count()) : Json(nullptr);
}

Json to_json(const BuyRow& row) {
  return {{"machine", row.machine},
          {"fits", row.fits},
          {"step_s", seconds_if(row.fits, row.step)},
          {"step_s_low", seconds_if(row.fits, row.step_low)},
          {"step_s_high", seconds_if(row.fits, row.step_high)},
          {"tokens_per_s", row.fits ? Json(row.tokens_per_s) : Json(nullptr)},
          {"days", or_null(row.days)},
          {"price", or_null(row.price)},
          {"price_date", row.price ? Json(row.price_date) : Json(nullptr)},
          {"cost", or_null(row.cost)},
          {"limit", row.limit},
          {"within_days", or_null(row.within_days)},
          {"within_budget", or_null(row.within_budget)},
          {"evidence",
           {{"measured", row.evidence.measured},
            {"fitted", row.evidence.fitted},
            {"datasheet", row.evidence.datasheet}}}};
}

Json to_json(const Upgrade& upgrade) {
  return {{"what", upgrade.what},
          {"setting", upgrade.setting},
          {"fits", upgrade.fits},
          {"step_s", seconds_if(upgrade.fits, upgrade.step)},
          {"speedup", or_null(upgrade.speedup)}};
}

}  // namespace

std::string to_json_text(const BuyReport& report) {
  Json json = {{"version", 1},
               {"rows", Json::array()},
               {"base", report.base},
               {"upgrades", Json::array()},
               {"elasticity", Json::object()}};
  for (const BuyRow& row : report.rows) json["rows"].push_back(to_json(row));
  for (const Upgrade& upgrade : report.upgrades) json["upgrades"].push_back(to_json(upgrade));
  for (const auto& [resource, value] : report.elasticity) json["elasticity"][resource] = value;
  return json.dump(1) + "\n";
}

}  // namespace sluice::planner
