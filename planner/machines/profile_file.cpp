#include "planner/machines/profile_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "planner/files/choice.hpp"
#include "planner/files/whole_file.hpp"
#include "planner/kernels/file.hpp"
#include "planner/machines/profile_passes.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;
using sim::JsonObject;

constexpr const char* kProfileSchema = "sluice/profile/1";

const char* suffix(FactUnit unit) {
  switch (unit) {
    case FactUnit::bytes:
      return "_bytes";
    case FactUnit::bytes_per_second:
      return "_bytes_per_s";
    case FactUnit::flops_per_second:
      return "_flop_per_s";
    case FactUnit::seconds:
      return "_s";
    case FactUnit::per_second:
      return "_per_s";
    case FactUnit::number:
      break;
  }
  return "";
}

Json to_json(const Fact& fact) {
  Json json = {{"value", fact.value},
               {"deviation", fact.deviation},
               {"count", fact.count},
               {"source", to_string(fact.source)}};
  if (!fact.note.empty()) json["note"] = fact.note;
  return json;
}

Fact to_fact(const JsonObject& json) {
  json.refuse_unknown({"value", "deviation", "count", "source", "note"});
  Fact fact;
  fact.value = json.number("value");
  fact.deviation = json.find_number("deviation").value_or(0);
  fact.count = json.find_integer("count").value_or(1);
  fact.source = parse_choice(json.text("source"), json.where() + ": source",
                             {Source::measured, Source::datasheet, Source::estimated});
  fact.note = json.find_text("note").value_or("");
  if (fact.value < 0) json.fail("value", "must not be negative");
  if (fact.deviation < 0) json.fail("deviation", "must not be negative");
  if (fact.count < 0) json.fail("count", "must not be negative");
  return fact;
}

FlopRate to_flop_rate(const JsonObject& json) { return in_unit<FlopsPerSecond>(to_fact(json)); }

void read_facts(const JsonObject& facts, MachineProfile& profile) {
  // Added later: absent in older files and where nobody fitted them.
  for (Fact* weight : {&profile.h2d_weight, &profile.d2h_weight}) {
    *weight = {.value = 0,
               .deviation = 0,
               .count = 0,
               .source = Source::estimated,
               .note = "not fitted: the cost model has its own"};
  }
  std::vector<std::string> known;
  for (const FactField& field : fact_fields()) {
    known.push_back(std::string(field.name) + suffix(field.unit));
    if (facts.has(known.back())) field.set(profile, to_fact(facts.object(known.back())));
  }
  for (const std::string& key : facts.keys()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw BadRequest(facts.where() + ": unknown key \"" + key + "\"" +
                       sim::did_you_mean(key, known));
    }
  }
  for (const FactField& field : fact_fields()) {
    const bool copies = field.is(&MachineProfile::h2d) || field.is(&MachineProfile::d2h);
    if (!copies || field.of(profile).value > 0) continue;
    facts.fail(std::string(field.name) + suffix(field.unit), "must be stated, and more than 0");
  }
}

constexpr char kForward[] = "forward_flop_per_s", kBackward[] = "backward_flop_per_s";

/// Reads an attention point, which must come after the points `known` in the order by head
/// dimension, then length.
AttentionPoint attention_point(const JsonObject& json, std::span<const AttentionPoint> known) {
  json.refuse_unknown({"head_dim", "length", kForward, kBackward});
  AttentionPoint point{.head_dim = json.integer("head_dim"),
                       .length = json.integer("length"),
                       .forward = to_flop_rate(json.object(kForward)),
                       .backward = to_flop_rate(json.object(kBackward))};
  if (point.head_dim < 1) json.fail("head_dim", "must be at least 1");
  if (point.length < 1) json.fail("length", "must be at least 1");
  if (!(point.forward.value > FlopsPerSecond(0))) json.fail(kForward, "must be more than 0");
  if (!(point.backward.value > FlopsPerSecond(0))) json.fail(kBackward, "must be more than 0");
  const auto order = [](const AttentionPoint& p) { return std::pair(p.head_dim, p.length); };
  if (!known.empty() && order(point) <= order(known.back())) {
    json.fail("length", "points must be in ascending order of head_dim, then of length");
  }
  return point;
}

LaneKind to_lane(const JsonObject& json, const std::string& name, std::span<const LaneKind> lanes) {
  const auto found = std::ranges::find(lanes, name, [](LaneKind lane) { return to_string(lane); });
  if (found != lanes.end()) return *found;
  std::string names;
  for (const LaneKind lane : lanes)
    names += (names.empty() ? "" : ", ") + std::string(to_string(lane));
  json.fail("interference", "\"" + name + "\" is no lane: one of " + names);
}

/// Reads the pairs of the list "interference", which may name `lanes`.
std::vector<LaneSlowing> read_slowings(const JsonObject& json, std::span<const LaneKind> lanes) {
  std::vector<LaneSlowing> slowings;
  for (const JsonObject& pair : json.objects("interference")) {
    pair.refuse_unknown({"on", "from", "factor", "threads"});
    const Fact factor = to_fact(pair.object("factor"));
    if (factor.value <= 0) pair.fail("factor", "must be positive");
    const std::int64_t threads = pair.has("threads") ? pair.integer("threads") : 0;
    if (pair.has("threads") && threads < 1) pair.fail("threads", "must be at least 1");
    slowings.push_back({to_lane(json, pair.text("on"), lanes),
                        to_lane(json, pair.text("from"), lanes), factor, threads});
  }
  return slowings;
}

Json to_json(const std::vector<LaneSlowing>& slowings) {
  Json json = Json::array();
  for (const LaneSlowing& pair : slowings) {
    json.push_back({{"on", to_string(pair.on)},
                    {"from", to_string(pair.from)},
                    {"factor", to_json(pair.factor)}});
    if (pair.threads > 0) json.back()["threads"] = pair.threads;
  }
  return json;
}

void read_lists(const JsonObject& json, MachineProfile& profile) {
  for (const JsonObject& point : json.objects("gemm")) {
    point.refuse_unknown({"flop", "rate_flop_per_s"});
    const Flops size(point.number("flop"));
    if (size <= Flops(0)) point.fail("flop", "must be positive");
    if (!profile.gemm.empty() && size <= profile.gemm.back().size) {
      point.fail("flop", "points must be in ascending order");
    }
    profile.gemm.push_back({size, to_flop_rate(point.object("rate_flop_per_s"))});
  }
  for (const JsonObject& json_point :
       json.has("attention") ? json.objects("attention") : sim::JsonObjects()) {
    profile.attention.push_back(attention_point(json_point, profile.attention));
  }
  for (const JsonObject& point : json.objects("update")) {
    point.refuse_unknown({"threads", "rate_per_s"});
    const std::int64_t threads = point.integer("threads");
    if (threads < 1) point.fail("threads", "must be at least 1");
    if (!profile.update.emplace(threads, to_fact(point.object("rate_per_s"))).second) {
      point.fail("threads", "is given twice");
    }
  }
  constexpr std::array kLanes = {LaneKind::compute,    LaneKind::h2d,    LaneKind::d2h,
                                 LaneKind::cpu,        LaneKind::launch, LaneKind::disk_read,
                                 LaneKind::disk_write, LaneKind::fabric};
  profile.interference = read_slowings(json, kLanes);
  if (json.has("passes")) profile.passes = read_passes(json.objects("passes"));
}

constexpr char kCollectiveRate[] = "rate_bytes_per_s";

std::vector<CurvePoint> collective_curve(const JsonObject& json, const char* name) {
  std::vector<CurvePoint> curve;
  for (const JsonObject& point : json.objects(name)) {
    point.refuse_unknown({"bytes", kCollectiveRate});
    const double bytes = point.number("bytes");
    if (!(bytes > 0)) point.fail("bytes", "must be positive");
    if (!curve.empty() && bytes <= curve.back().size) {
      point.fail("bytes", "points must be in ascending order");
    }
    curve.push_back({bytes, in_unit<BytesPerSecond>(to_fact(point.object(kCollectiveRate)))});
    if (!(curve.back().rate.value > BytesPerSecond(0)))
      point.fail(kCollectiveRate, "must be more than 0");
  }
  if (curve.empty()) json.fail(name, "must have a point");
  return curve;
}

Fabric to_fabric(const JsonObject& json) {
  json.refuse_unknown({"path", "latency_s", "gather", "exchange", "interference"});
  Fabric fabric{.latency = in_unit<Seconds>(to_fact(json.object("latency_s"))),
                .gather = collective_curve(json, "gather"),
                .exchange = collective_curve(json, "exchange")};
  if (const auto path = json.find_text("path")) {
    fabric.path = parse_choice(*path, json.where() + ": path",
                               {FabricPath::nvlink, FabricPath::pcie, FabricPath::host});
  }
  constexpr std::array kLanes = {LaneKind::fabric, LaneKind::compute, LaneKind::h2d, LaneKind::d2h,
                                 LaneKind::cpu};
  if (json.has("interference")) fabric.interference = read_slowings(json, kLanes);
  for (const LaneSlowing& pair : fabric.interference) {
    if (pair.threads > 0)
      json.fail("interference", "takes no threads: one factor holds for any number");
  }
  return fabric;
}

Json to_json(const Fabric& fabric) {
  const auto curve = [](const std::vector<CurvePoint>& points) {
    Json json = Json::array();
    for (const CurvePoint& point : points) {
      json.push_back({{"bytes", point.size}, {kCollectiveRate, to_json(number_of(point.rate))}});
    }
    return json;
  };
  Json json = {{"path", to_string(fabric.path)},
               {"latency_s", to_json(number_of(fabric.latency))},
               {"gather", curve(fabric.gather)},
               {"exchange", curve(fabric.exchange)}};
  if (!fabric.interference.empty()) json["interference"] = to_json(fabric.interference);
  return json;
}

}  // namespace

const char* to_string(Source source) {
  switch (source) {
    case Source::measured:
      return "measured";
    case Source::datasheet:
      return "datasheet";
    case Source::estimated:
      return "estimated";
  }
  return "";
}

const char* to_string(FabricPath path) {
  switch (path) {
    case FabricPath::nvlink:
      return "nvlink";
    case FabricPath::pcie:
      return "pcie";
    case FabricPath::host:
      return "host";
  }
  return "";
}

const char* to_string(DeviceKind device) { return device == DeviceKind::host ? "host" : "cuda"; }

std::string to_json_text(const MachineProfile& profile) {
  Json facts = Json::object();
  for (const FactField& field : fact_fields()) {
    if (!is_stated(profile, field)) continue;
    facts[std::string(field.name) + suffix(field.unit)] = to_json(field.of(profile));
  }
  Json json = {{"schema", kProfileSchema},
               {"name", profile.name},
               {"device", to_string(profile.device)},
               {"architecture", profile.architecture},
               {"facts", std::move(facts)},
               {"gemm", Json::array()},
               {"update", Json::array()},
               {"interference", to_json(profile.interference)}};
  for (const ProductPoint& point : profile.gemm) {
    json["gemm"].push_back(
        {{"flop", point.size.count()}, {"rate_flop_per_s", to_json(number_of(point.rate))}});
  }
  for (const AttentionPoint& point : profile.attention) {
    json["attention"].push_back({{"head_dim", point.head_dim},
                                 {"length", point.length},
                                 {kForward, to_json(number_of(point.forward))},
                                 {kBackward, to_json(number_of(point.backward))}});
  }
  for (const auto& [threads, rate] : profile.update) {
    json["update"].push_back({{"threads", threads}, {"rate_per_s", to_json(rate)}});
  }
  if (profile.devices) json["devices"] = *profile.devices;
  if (profile.fabric) json["fabric"] = to_json(*profile.fabric);
  if (profile.probe != ProbeDepth::unstated) json["probe"] = to_string(profile.probe);
  if (!profile.passes.empty()) json["passes"] = passes_json(profile.passes);
  if (profile.price_usd) json["price_usd"] = *profile.price_usd;
  std::string text = json.dump(2) + "\n";
  if (profile.kernels) {
    // Its own writer keeps a tree on one line.
    text.erase(text.rfind("\n}"));
    text += ",\n  \"kernels\": " + to_json_text(*profile.kernels) + "}\n";
  }
  return text;
}

MachineProfile profile_from_json(const std::string& text, const std::string& where) {
  const sim::JsonDocument parsed = sim::parse_json(text, where);
  const JsonObject json(parsed, where);
  if (json.text("schema") != kProfileSchema) {
    json.fail("schema", "must be \"" + std::string(kProfileSchema) + "\", not \"" +
                            json.text("schema") + "\"");
  }
  json.refuse_unknown({"schema", "name", "device", "architecture", "facts", "gemm", "attention",
                       "update", "interference", "devices", "fabric", "probe", "passes",
                       "price_usd", "kernels"});
  MachineProfile profile;
  profile.name = json.text("name");
  profile.device =
      parse_choice(json.text("device"), where + ": device", {DeviceKind::host, DeviceKind::cuda});
  profile.architecture = json.text("architecture");
  read_facts(json.object("facts"), profile);
  read_lists(json, profile);
  profile.devices = json.find_integer("devices");
  if (profile.devices && *profile.devices < 1) json.fail("devices", "must be at least 1");
  if (json.has("fabric")) profile.fabric = to_fabric(json.object("fabric"));
  if (const auto probe = json.find_text("probe")) {
    profile.probe = parse_choice(*probe, where + ": probe", {ProbeDepth::quick, ProbeDepth::full});
  }
  profile.price_usd = json.find_number("price_usd");
  if (json.has("kernels")) {
    profile.kernels =
        std::make_shared<const KernelModel>(kernels_from_json(json.object("kernels")));
  }
  return profile;
}

void write_profile(const MachineProfile& profile, const std::filesystem::path& path) {
  write_whole_file(path, to_json_text(profile));
}

MachineProfile read_profile(const std::filesystem::path& path) {
  return profile_from_json(read_whole_file(path), path.string());
}

}  // namespace sluice::planner
