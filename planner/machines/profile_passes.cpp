#include "planner/machines/profile_passes.hpp"

#include <nlohmann/json.hpp>
#include <set>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

MeasuredPass read_pass(const sim::JsonObject& json) {
  json.refuse_unknown({"key", "seconds", "deviation", "count", "note"});
  MeasuredPass pass{.key = json.text("key"),
                    .time = Seconds(json.number("seconds")),
                    .deviation = Seconds(json.find_number("deviation").value_or(0)),
                    .count = json.find_integer("count").value_or(1),
                    .note = json.find_text("note").value_or("")};
  if (!(pass.time > Seconds(0))) json.fail("seconds", "must be more than 0");
  if (pass.deviation < Seconds(0)) json.fail("deviation", "must not be negative");
  if (pass.count < 1) json.fail("count", "must be at least 1");
  return pass;
}

}  // namespace

nlohmann::ordered_json passes_json(const std::vector<MeasuredPass>& passes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MeasuredPass& pass : passes) {
    nlohmann::ordered_json json = {{"key", pass.key},
                                   {"seconds", pass.time.count()},
                                   {"deviation", pass.deviation.count()},
                                   {"count", pass.count}};
    if (!pass.note.empty()) json["note"] = pass.note;
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<MeasuredPass> read_passes(const sim::JsonObjects& passes) {
  std::vector<MeasuredPass> all;
  std::set<std::string> keys;
  for (const sim::JsonObject& json : passes) {
    all.push_back(read_pass(json));
    if (!keys.insert(all.back().key).second) json.fail("key", "is given twice");
  }
  return all;
}

}  // namespace sluice::planner
