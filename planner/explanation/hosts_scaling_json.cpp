#include <nlohmann/json.hpp>

#include "planner/explanation/hosts_scaling.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

Json tokens_json(const std::optional<std::int64_t>& tokens) {
  return tokens ? Json(*tokens) : Json(nullptr);
}

Json points_json(const std::vector<HostsPoint>& points, std::int64_t seq_len) {
  Json all = Json::array();
  for (const HostsPoint& each : points) {
    Json json = {{"hosts", each.hosts},
                 {"devices", each.devices},
                 {"batch_size", each.batch_size},
                 {"tokens", each.batch_size * seq_len},
                 {"step_s", nullptr}};
    if (each.step) {
      json["step_s"] = to_seconds(*each.step).count();
      json["tokens_per_s"] = each.tokens_per_s;
      json["efficiency"] = each.efficiency;
      json["limit"] = each.limit;
      json["limit_share"] = each.limit_share;
    }
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace

std::string to_json_text(const HostsScaling& scaling) {
  Json nics = Json::array();
  for (const NicPoint& each : scaling.nics) {
    nics.push_back({{"nic", each.nic},
                    {"step_s", to_seconds(each.step).count()},
                    {"speed_over_one_host", each.speed}});
  }
  const Json json = {{"machine", scaling.machine},
                     {"nic", scaling.nic},
                     {"strong", points_json(scaling.strong, scaling.seq_len)},
                     {"weak", points_json(scaling.weak, scaling.seq_len)},
                     {"hosts", scaling.hosts},
                     {"pays_from_tokens", tokens_json(scaling.pays_from)},
                     {"scales_from_tokens", tokens_json(scaling.scales_from)},
                     {"most_tokens_tried", scaling.most_tried},
                     {"nics", nics}};
  return json.dump();
}

}  // namespace sluice::planner
