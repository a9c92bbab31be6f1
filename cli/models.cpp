// `sluice models`: the catalogue of models, and what any config.json amounts to.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/shown/model_table.hpp"
#include "cli/words/listing.hpp"
#include "planner/catalogue/catalogue.hpp"
#include "planner/catalogue/model_list.hpp"
#include "planner/catalogue/model_source.hpp"
#include "planner/models/config_notes.hpp"
#include "sim/json_object.hpp"
#include "sim/units_text.hpp"
#if SLUICE_HAS_train
#include "cli/shown/model_files_output.hpp"
#endif

namespace sluice::cli {
namespace {

using planner::CatalogueModel;
using planner::ModelShape;

void list() {
  std::printf("%-20s %-11s %15s %10s %7s %7s %6s %9s\n", "model", "family", "parameters", "state",
              "layers", "hidden", "vocab", "head");
  for (const CatalogueModel& model : planner::catalogue_models()) {
    const ModelShape shape = planner::find_model(model.name);
    const std::int64_t parameters = parameter_count(shape);
    std::printf("%-20s %-11s %15lld %10s %7lld %7lld %6lld %9s\n", shape.name.c_str(),
                to_string(shape.family), static_cast<long long>(parameters),
                planner::format_bytes(Bytes(parameters * planner::kStateBytesAParameter)).c_str(),
                static_cast<long long>(shape.layers), static_cast<long long>(shape.hidden),
                static_cast<long long>(shape.vocab), shape.tied_head ? "tied" : "own");
  }
  std::printf(
      "\nState is fp32 master, m and v: 12 bytes a parameter. Any config.json of these families is "
      "a "
      "model too: `sluice models show` says whether it is trained or only predicted.\n");
}

/// Whether a tensor belongs to an expert after the first one, whose tensors stand for those of all
/// experts.
bool of_later_expert(const std::string& tensor) {
  const std::size_t found = tensor.find(".experts.");
  if (found == std::string::npos) return false;
  const char digit = tensor[found + std::string_view(".experts.").size()];
  return digit >= '1' && digit <= '9';
}

/// A model that was found by its name: its source, the text of its config.json and its shape.
struct Shown {
  planner::ModelSource source;
  std::string config;
  ModelShape shape;
};

Shown find_shown(const std::string& name) {
  Shown shown{.source = planner::find_model_source(name), .config = {}, .shape = {}};
  shown.config = planner::config_text(shown.source);
  shown.shape = planner::find_model(name);
  return shown;
}

std::string shown_json(const std::string& name) {
  const Shown shown = find_shown(name);
  sim::Json json = sim::Json::parse(planner::model_json(shown.shape));
  json["source"] = {
      {"kind", to_string(shown.source.kind)},
      {"config",
       shown.source.config.empty() ? sim::Json() : sim::Json(shown.source.config.string())}};
  const std::string dtype = planner::stated_dtype(shown.config);
  json["dtype"] = dtype.empty() ? sim::Json() : sim::Json(dtype);
  json["defaults"] = sim::Json::object();
  for (const auto& [key, value] : planner::defaulted_keys(shown.config, shown.shape)) {
    json["defaults"][key] = sim::Json::parse(value);
  }
  json["notes"] = planner::config_notes(shown.config, shown.shape);
#if SLUICE_HAS_train
  json.update(model_files_json(read_model_files(name, shown.shape)));
#endif
  return json.dump(2) + "\n";
}

void show(const std::string& name) {
  const Shown shown = find_shown(name);
  const ModelShape& shape = shown.shape;
  const std::int64_t parameters = parameter_count(shape);
  std::printf("%s: %s, %lld parameters (%s), state %s\n\n", shape.name.c_str(),
              to_string(shape.family), static_cast<long long>(parameters),
              planner::format_amount(static_cast<double>(parameters)).c_str(),
              planner::format_bytes(Bytes(parameters * planner::kStateBytesAParameter)).c_str());
  std::fputs(model_table(shown.source, shown.config, shape).c_str(), stdout);
#if SLUICE_HAS_train
  std::fputs(model_files_table(read_model_files(name, shape)).c_str(), stdout);
#endif
  std::fputs("\n", stdout);
  for (const planner::UnitRow& row : planner::unit_rows(shape)) {
    const planner::UnitTensors unit = unit_tensors(shape, row.index);
    std::printf("%-6s x %-4lld %14lld parameters\n", row.name, static_cast<long long>(row.times),
                static_cast<long long>(unit.parameters()));
    for (const planner::TensorSpec& tensor : unit.tensors) {
      if (of_later_expert(tensor.name)) continue;
      std::printf("    %-48s [%lld, %lld]\n", tensor.name.c_str(),
                  static_cast<long long>(tensor.rows), static_cast<long long>(tensor.cols));
    }
    if (shape.experts && of_later_expert(unit.tensors.back().name)) {
      std::printf("    the same for each of %lld experts\n",
                  static_cast<long long>(shape.experts->count));
    }
  }
}

}  // namespace

int run_models(const Arguments& arguments) {
  const Listing listing = parse_listing(arguments, "models", "NAME|ID|config.json|FOLDER");
  if (listing.json) {
    std::cout << (listing.shown ? shown_json(*listing.shown) : planner::model_list_json());
  } else if (listing.shown) {
    show(*listing.shown);
  } else {
    list();
  }
  return 0;
}

}  // namespace sluice::cli
