#include "planner/catalogue/fabrics.hpp"

#include <algorithm>

#include "planner/catalogue/catalogue_files.hpp"
#include "planner/files/choice.hpp"
#include "planner/machines/profile_file.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

constexpr double kGigabyte = 1e9, kMicro = 1e-6;

sim::JsonDocument fabrics_file() {
  for (const CatalogueFile& file : catalogue_parts_files()) {
    if (file.name == "fabrics") return sim::parse_json(file.text, "catalogue parts fabrics");
  }
  throw std::logic_error("the catalogue has no parts fabrics");
}

sim::JsonObject entry(const sim::JsonObject& all, const std::string& name) {
  for (const auto& json : all.objects("fabrics")) {
    if (json.text("name") == name) return json;
  }
  throw std::logic_error("the catalogue has no fabric " + name);
}

/// How rates of an entry become those of a GPU's fabric.
struct Scale {
  double gather = 1, exchange = 1;
  double deviation = 0;  ///< Relative standard deviation of scaled rates.
  Source source = Source::estimated;
  std::string note;
};

std::vector<CurvePoint> curve(const std::vector<double>& bytes, const std::vector<double>& rates,
                              double factor, const Scale& scale) {
  check(bytes.size() == rates.size() && !bytes.empty(), "a fabric has a rate for each size");
  std::vector<CurvePoint> points;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const BytesPerSecond rate(kGigabyte * factor * rates[i]);
    points.push_back({bytes[i],
                      {.value = rate,
                       .deviation = rate * scale.deviation,
                       .count = scale.source == Source::measured ? 1 : 0,
                       .source = scale.source,
                       .note = scale.note}});
  }
  return points;
}

FabricPath path_of(const sim::JsonObject& json) {
  return parse_choice(json.text("path"), json.where() + ": path",
                      {FabricPath::nvlink, FabricPath::pcie, FabricPath::host});
}

std::vector<LaneSlowing> read_interference(const sim::JsonObject& json) {
  std::vector<LaneSlowing> all;
  for (const auto& pair : json.objects("interference")) {
    const double factor = pair.number("factor");
    all.push_back({lane_named(pair.text("on")).value(),
                   lane_named(pair.text("from")).value(),
                   {.value = factor,
                    .deviation = factor * pair.number("deviation"),
                    .count = 0,
                    .source = Source::estimated,
                    .note = json.text("interference_source")}});
  }
  return all;
}

Fabric read_fabric(const sim::JsonObject& json, std::int64_t gpus, const Scale& scale) {
  Fabric fabric;
  fabric.path = path_of(json);
  // The table of the smallest number of GPUs that is no smaller.
  for (const auto& table : json.objects("tables")) {
    if (!fabric.gather.empty()) break;
    if (table.integer("gpus") < gpus) continue;
    const std::vector<double> bytes = table.numbers("bytes");
    const Seconds latency(kMicro * table.number("latency_us"));
    fabric.latency = {.value = latency,
                      .deviation = 0.3 * latency,
                      .count = scale.source == Source::measured ? 1 : 0,
                      .source = scale.source,
                      .note = scale.note};
    fabric.gather = curve(bytes, table.numbers("gather_gb_s"), scale.gather, scale);
    fabric.exchange = curve(bytes, table.numbers("exchange_gb_s"), scale.exchange, scale);
  }
  check(!fabric.gather.empty(), "a fabric has a table for up to eight GPUs");
  fabric.interference = read_interference(json);
  return fabric;
}

}  // namespace

std::vector<LaneSlowing> usual_interference(FabricPath path) {
  const sim::JsonDocument file = fabrics_file();
  const sim::JsonObject all(file, "catalogue parts fabrics");
  for (const auto& json : all.objects("fabrics")) {
    if (json.has("interference") && path_of(json) == path) return read_interference(json);
  }
  throw std::logic_error("the catalogue has a fabric of every path");
}

Fabric fabric_of(const GpuPart& gpu, std::int64_t gpus, BytesPerSecond link) {
  if (gpu.fabric.empty()) {
    throw BadRequest("machine: several " + gpu.name +
                     " in one host: nothing is known of what connects them: name one of them, or "
                     "a profile file with `devices` and `fabric`");
  }
  const sim::JsonDocument file = fabrics_file();
  const sim::JsonObject all(file, "catalogue parts fabrics");
  const sim::JsonObject own = entry(all, gpu.fabric);
  const bool is_scaled = own.has("like");
  const sim::JsonObject base = is_scaled ? entry(all, own.text("like")) : own;
  const auto measured_on = base.texts("measured_on");
  Scale scale{.deviation = own.number("deviation"), .note = base.text("source")};
  if (is_scaled) {
    scale.gather = own.number("gather");
    scale.exchange = own.number("exchange");
    scale.note = "a rule, " + own.text("rule") + ", of: " + scale.note;
  } else if (std::ranges::find(measured_on, gpu.name) != measured_on.end()) {
    scale.source = Source::measured;
  } else {
    scale.note = "a rule, as: " + scale.note;
  }
  if (const auto of = base.find_number("link_gb_s")) {
    const double factor = std::min(1.0, link.count() / (kGigabyte * *of));
    scale.gather *= factor;
    scale.exchange *= factor;
    constexpr double kSame = 0.9;  // Links of one generation differ by less.
    if (factor < kSame) {
      scale.source = Source::estimated;
      scale.note += "; slower by the link's part of that one's";
    }
  }
  return read_fabric(base, gpus, scale);
}

}  // namespace sluice::planner
