#include "profiler/probe/contention_grid.hpp"

#include <nlohmann/json.hpp>

#include "planner/files/choice.hpp"
#include "sim/json_object.hpp"

namespace sluice::profiler {
namespace {

using planner::Fact;
using sim::Json;
using sim::JsonObject;

constexpr const char* kSchema = "sluice/contention/1";

Json to_json(const Fact& rate, const std::vector<double>& repetitions) {
  Json json = {{"value", rate.value}, {"deviation", rate.deviation}, {"count", rate.count}};
  if (!repetitions.empty()) json["rounds"] = repetitions;
  return json;
}

Fact to_rate(const JsonObject& point, const char* key, std::vector<double>& repetitions) {
  Fact rate{
      .value = 0, .deviation = 0, .count = 0, .source = planner::Source::measured, .note = {}};
  if (!point.has(key)) return rate;
  const JsonObject json = point.object(key);
  json.refuse_unknown({"value", "deviation", "count", "rounds"});
  rate.value = json.number("value");
  rate.deviation = json.find_number("deviation").value_or(0);
  rate.count = json.find_integer("count").value_or(1);
  if (rate.value <= 0) json.fail("value", "must be positive");
  if (rate.deviation < 0) json.fail("deviation", "must not be negative");
  if (json.has("rounds")) repetitions = json.numbers("rounds");
  return rate;
}

}  // namespace

const char* to_string(Copies copies) {
  switch (copies) {
    case Copies::none:
      return "none";
    case Copies::h2d:
      return "h2d";
    case Copies::d2h:
      return "d2h";
    case Copies::both:
      return "both";
  }
  return "";
}

std::string to_json_text(const ContentionGrid& grid) {
  Json json = {{"schema", kSchema}, {"points", Json::array()}};
  for (const ContentionPoint& point : grid) {
    Json entry = {{"threads", point.threads}, {"copies", to_string(point.copies)}};
    if (point.update.value > 0)
      entry["update_per_s"] = to_json(point.update, point.repetitions.update);
    if (point.h2d.value > 0) entry["h2d_bytes_per_s"] = to_json(point.h2d, point.repetitions.h2d);
    if (point.d2h.value > 0) entry["d2h_bytes_per_s"] = to_json(point.d2h, point.repetitions.d2h);
    json["points"].push_back(std::move(entry));
  }
  return json.dump(1) + "\n";
}

ContentionGrid contention_grid_from_json(const std::string& text, const std::string& where) {
  const sim::JsonDocument parsed = sim::parse_json(text, where);
  const JsonObject json(parsed, where);
  if (json.text("schema") != kSchema) {
    json.fail("schema", "must be \"" + std::string(kSchema) + "\"");
  }
  ContentionGrid grid;
  for (const JsonObject& entry : json.objects("points")) {
    entry.refuse_unknown(
        {"threads", "copies", "update_per_s", "h2d_bytes_per_s", "d2h_bytes_per_s"});
    ContentionPoint point;
    point.threads = entry.integer("threads");
    point.copies = planner::parse_choice(entry.text("copies"), entry.where() + ": copies",
                                         {Copies::none, Copies::h2d, Copies::d2h, Copies::both});
    point.update = to_rate(entry, "update_per_s", point.repetitions.update);
    point.h2d = to_rate(entry, "h2d_bytes_per_s", point.repetitions.h2d);
    point.d2h = to_rate(entry, "d2h_bytes_per_s", point.repetitions.d2h);
    if (point.threads < 0) entry.fail("threads", "must not be negative");
    if ((point.threads > 0) != (point.update.value > 0)) {
      entry.fail("update_per_s", "is there where threads run, and only there");
    }
    if (copies_down(point.copies) != (point.h2d.value > 0)) {
      entry.fail("h2d_bytes_per_s", "is there where such copies run, and only there");
    }
    if (copies_up(point.copies) != (point.d2h.value > 0)) {
      entry.fail("d2h_bytes_per_s", "is there where such copies run, and only there");
    }
    grid.push_back(std::move(point));
  }
  return grid;
}

}  // namespace sluice::profiler
