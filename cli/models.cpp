// `sluice models`: the catalogue of models, and what any config.json amounts to.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/listing.hpp"
#include "planner/catalogue.hpp"
#include "planner/units_text.hpp"

namespace sluice::cli {
namespace {

using planner::CatalogueModel;
using planner::ModelShape;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kStateBytes = 12;  ///< Master, m and v of a parameter.

Json to_json(const ModelShape& shape) {
  const std::int64_t parameters = parameter_count(shape);
  Json json = {{"name", shape.name},
               {"family", to_string(shape.family)},
               {"parameters", parameters},
               {"matmul_parameters", matmul_parameters(shape)},
               {"state_bytes", parameters * kStateBytes},
               {"layers", shape.layers},
               {"hidden", shape.hidden},
               {"intermediate", shape.intermediate},
               {"heads", shape.heads},
               {"kv_heads", shape.kv_heads},
               {"head_dim", shape.head_dim},
               {"vocab", shape.vocab},
               {"tied_head", shape.tied_head}};
  if (shape.sliding_window) json["sliding_window"] = *shape.sliding_window;
  return json;
}

Json to_json(const CatalogueModel& model) {
  Json json = to_json(planner::find_model(model.name));
  if (!model.hf_id.empty()) json["hf_id"] = model.hf_id;
  json["source"] = model.source;
  return json;
}

void list(bool as_json) {
  if (as_json) {
    Json json = {{"schema", "sluice/model-list/1"}, {"models", Json::array()}};
    for (const CatalogueModel& model : planner::catalogue_models()) {
      json["models"].push_back(to_json(model));
    }
    std::cout << json.dump(2) << '\n';
    return;
  }
  std::printf("%-20s %-8s %15s %10s %7s %7s %6s %9s\n", "model", "family", "parameters", "state",
              "layers", "hidden", "vocab", "head");
  for (const CatalogueModel& model : planner::catalogue_models()) {
    const ModelShape shape = planner::find_model(model.name);
    const std::int64_t parameters = parameter_count(shape);
    std::printf("%-20s %-8s %15lld %10s %7lld %7lld %6lld %9s\n", shape.name.c_str(),
                to_string(shape.family), static_cast<long long>(parameters),
                planner::format_bytes(Bytes(parameters * kStateBytes)).c_str(),
                static_cast<long long>(shape.layers), static_cast<long long>(shape.hidden),
                static_cast<long long>(shape.vocab), shape.tied_head ? "tied" : "own");
  }
  std::printf(
      "\nState is fp32 master, m and v: 12 bytes a parameter. Any llama, mistral, qwen2 or "
      "qwen3 config.json is a model too.\n");
}

struct UnitRow {
  const char* name;
  std::size_t index;
  std::int64_t times;
};

void show(const std::string& name, bool as_json) {
  const ModelShape shape = planner::find_model(name);
  const std::size_t head = planner::unit_count(shape) - 1;
  const UnitRow rows[] = {{"embed", 0, 1}, {"block", 1, shape.layers}, {"head", head, 1}};
  if (as_json) {
    Json json = to_json(shape);
    json["schema"] = "sluice/model/1";
    for (const UnitRow& row : rows) {
      Json tensors = Json::array();
      for (const planner::TensorSpec& tensor : unit_tensors(shape, row.index).tensors) {
        tensors.push_back({{"name", tensor.name}, {"rows", tensor.rows}, {"cols", tensor.cols}});
      }
      json["units"].push_back({{"unit", row.name},
                               {"count", row.times},
                               {"parameters", unit_tensors(shape, row.index).parameters()},
                               {"tensors", std::move(tensors)}});
    }
    json["config"] = Json::parse(config_from_shape(shape));
    std::cout << json.dump(2) << '\n';
    return;
  }
  const std::int64_t parameters = parameter_count(shape);
  std::printf("%s: %s, %lld parameters (%s), state %s\n\n", shape.name.c_str(),
              to_string(shape.family), static_cast<long long>(parameters),
              planner::format_amount(static_cast<double>(parameters)).c_str(),
              planner::format_bytes(Bytes(parameters * kStateBytes)).c_str());
  for (const UnitRow& row : rows) {
    const planner::UnitTensors unit = unit_tensors(shape, row.index);
    std::printf("%-6s x %-4lld %14lld parameters\n", row.name, static_cast<long long>(row.times),
                static_cast<long long>(unit.parameters()));
    for (const planner::TensorSpec& tensor : unit.tensors) {
      std::printf("    %-48s [%lld, %lld]\n", tensor.name.c_str(),
                  static_cast<long long>(tensor.rows), static_cast<long long>(tensor.cols));
    }
  }
}

}  // namespace

int run_models(const Arguments& arguments) {
  const Listing listing = parse_listing(arguments, "models", "NAME|config.json|FOLDER");
  if (listing.shown) {
    show(*listing.shown, listing.json);
  } else {
    list(listing.json);
  }
  return 0;
}

}  // namespace sluice::cli
