#include "planner/kernels/file.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"
#include "sim/json_object.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::planner {
namespace {

using sim::Json;
using sim::JsonObject;
using Node = KernelCorrection::Node;

constexpr const char* kKernelsSchema = "sluice/kernels/1";

/// Text of the trees, one a line: feature and value of each node in preorder, feature -1 for a
/// leaf.
std::string trees_text(const KernelCorrection& correction) {
  std::string text = "[";
  char number[40];
  for (const KernelCorrection::Tree& tree : correction.trees()) {
    text += text.size() > 1 ? ",\n    [" : "\n    [";
    for (std::size_t i = 0; i < tree.size(); ++i) {
      std::snprintf(number, sizeof number, "%s%d,%.6g", i > 0 ? "," : "", tree[i].feature,
                    tree[i].value);
      text += number;
    }
    text += ']';
  }
  return text + "]";
}

/// Reads the subtree that begins at `numbers[at]` and appends it to `tree`.
void read_subtree(const std::vector<double>& numbers, std::size_t& at, std::size_t features,
                  KernelCorrection::Tree& tree, const std::string& where) {
  const auto refuse = [&](const char* why) { throw BadRequest(where + ": correction: " + why); };
  if (at + 2 > numbers.size()) refuse("a tree ends early");
  const double feature = numbers[at], value = numbers[at + 1];
  at += 2;
  if (feature != static_cast<std::int32_t>(feature) || feature < -1 ||
      feature >= static_cast<double>(features)) {
    refuse("a tree splits on a feature that there is not");
  }
  const std::size_t here = tree.size();
  tree.push_back({.feature = static_cast<std::int32_t>(feature), .value = value});
  if (feature < 0) return;
  read_subtree(numbers, at, features, tree, where);
  tree[here].right = static_cast<std::int32_t>(tree.size());
  read_subtree(numbers, at, features, tree, where);
}

KernelFamily read_family(const JsonObject& json) {
  json.refuse_unknown({"kind", "source", "rows", "multiprocessors", "constants", "speed",
                       "backward_speed", "check", "correction"});
  KernelFamily family;
  const std::string kind = json.text("kind");
  if (kind != "gemm" && kind != "attention") json.fail("kind", "must be gemm or attention");
  family.kind = kind == "gemm" ? KernelKind::gemm : KernelKind::attention;
  family.source = json.text("source");
  family.rows = json.integer("rows");
  family.multiprocessors = json.number("multiprocessors");
  if (!(family.multiprocessors >= 1)) json.fail("multiprocessors", "must be at least 1");
  const JsonObject constants = json.object("constants");
  for (const KernelConstant& constant : kernel_constants(family.kind)) {
    const double value = constants.number(constant.name);
    if (!(value > 0)) constants.fail(constant.name, "must be positive");
    family.constants.push_back(value);
  }
  family.speed = json.find_number("speed").value_or(1);
  family.backward_speed = json.find_number("backward_speed").value_or(1);
  if (!(family.speed > 0)) json.fail("speed", "must be more than 0");
  if (!(family.backward_speed > 0)) json.fail("backward_speed", "must be more than 0");
  const JsonObject check = json.object("check");
  family.check = {.rows = check.integer("rows"),
                  .median_error = check.number("median_error"),
                  .p90_error = check.number("p90_error"),
                  .log_low = check.number("log_low"),
                  .log_high = check.number("log_high")};
  const KernelShape any{{1, 1, 1, 1, 1, 1}};
  const std::size_t features = correction_features(family, any, 1).size();
  const sim::JsonValue trees = json.value("correction");
  if (!trees.is_list()) json.fail("correction", "must be a list of trees");
  for (const sim::JsonValue tree : trees) {
    if (!tree.is_list()) json.fail("correction", "must be a list of trees");
    std::vector<double> numbers;
    for (const sim::JsonValue value : tree) {
      if (!value.is_number()) json.fail("correction", "a tree must be a list of numbers");
      numbers.push_back(value.number());
    }
    KernelCorrection::Tree read;
    std::size_t at = 0;
    read_subtree(numbers, at, features, read, json.where());
    if (at != numbers.size()) json.fail("correction", "a tree goes on after its last leaf");
    family.correction.add(std::move(read));
  }
  return family;
}

}  // namespace

std::string to_json_text(const KernelModel& model) {
  std::string text = "{\"schema\": " + Json(kKernelsSchema).dump() +
                     ",\n \"device\": " + Json(model.device()).dump() + ",\n \"families\": [";
  bool first = true;
  for (const KernelKind kind : {KernelKind::gemm, KernelKind::attention}) {
    const KernelFamily* family = model.family(kind);
    if (family == nullptr) continue;
    Json constants = Json::object();
    for (std::size_t i = 0; i < family->constants.size(); ++i) {
      constants[kernel_constants(kind)[i].name] = family->constants[i];
    }
    Json head = {{"kind", to_string(kind)},
                 {"source", family->source},
                 {"rows", family->rows},
                 {"multiprocessors", family->multiprocessors},
                 {"constants", std::move(constants)},
                 {"check",
                  {{"rows", family->check.rows},
                   {"median_error", family->check.median_error},
                   {"p90_error", family->check.p90_error},
                   {"log_low", family->check.log_low},
                   {"log_high", family->check.log_high}}}};
    if (family->speed != 1) head["speed"] = family->speed;
    if (family->backward_speed != 1) head["backward_speed"] = family->backward_speed;
    std::string body = head.dump(1);
    body.erase(body.size() - 2);  // the closing "\n}"
    text += std::string(first ? "\n" : ",\n") + body +
            ",\n \"correction\": " + trees_text(family->correction) + "}";
    first = false;
  }
  return text + "]}\n";
}

KernelModel kernels_from_json(const std::string& text, const std::string& where) {
  const sim::JsonDocument parsed = sim::parse_json(text, where);
  return kernels_from_json(JsonObject(parsed, where));
}

KernelModel kernels_from_json(const JsonObject& json) {
  if (json.text("schema") != kKernelsSchema) {
    json.fail("schema", "must be \"" + std::string(kKernelsSchema) + "\", not \"" +
                            json.text("schema") + "\"");
  }
  json.refuse_unknown({"schema", "device", "families"});
  KernelModel model(json.text("device"));
  for (const JsonObject& family : json.objects("families")) model.set(read_family(family));
  return model;
}

bool is_kernels_json(const std::string& text) {
  return text.substr(0, 200).find(kKernelsSchema) != std::string::npos;
}

}  // namespace sluice::planner
