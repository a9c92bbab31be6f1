#include "planner/catalogue/model_list.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/catalogue/catalogue.hpp"
#include "planner/models/config_values.hpp"
#include "planner/models/rope_config.hpp"
#include "planner/models/support.hpp"
#include "planner/models/unit_classes.hpp"
#include "sim/json_object.hpp"

namespace sluice::planner {
namespace {

using sim::Json;

Json to_json(const ModelShape& shape) {
  const std::int64_t parameters = parameter_count(shape);
  Json json = {{"name", shape.name},
               {"family", to_string(shape.family)},
               {"parameters", parameters},
               {"matmul_parameters", matmul_parameters(shape)},
               {"state_bytes", parameters * kStateBytesAParameter},
               {"layers", shape.layers},
               {"hidden", shape.hidden},
               {"intermediate", shape.intermediate},
               {"heads", shape.heads},
               {"kv_heads", shape.kv_heads},
               {"head_dim", shape.head_dim},
               {"vocab", shape.vocab},
               {"tied_head", shape.tied_head}};
  if (const auto window = window_json(shape); window.is_number()) {
    json["sliding_window"] = window.get<std::int64_t>();
  }
  return json;
}

Json to_json(const CatalogueModel& model) {
  Json json = to_json(find_model(model.name));
  if (!model.hf_id.empty()) json["hf_id"] = model.hf_id;
  json["source"] = model.source;
  return json;
}

}  // namespace

std::vector<UnitRow> unit_rows(const ModelShape& shape) {
  std::vector<UnitRow> rows{{"embed", 0, 1}};
  for (const BlockClass& each : block_classes(shape)) {
    const auto size = unit_padded_size(shape, each.unit);
    const auto alike = std::ranges::find_if(rows.begin() + 1, rows.end(), [&](const UnitRow& row) {
      return unit_padded_size(shape, row.index) == size;
    });
    if (alike == rows.end()) {
      rows.push_back({"block", each.unit, each.layers});
    } else {
      alike->times += each.layers;
    }
  }
  rows.push_back({"head", unit_count(shape) - 1, 1});
  return rows;
}

std::string model_list_json() {
  Json json = {{"schema", "sluice/model-list/1"}, {"models", Json::array()}};
  for (const CatalogueModel& model : catalogue_models()) json["models"].push_back(to_json(model));
  return json.dump(2) + "\n";
}

std::string model_json(const ModelShape& shape) {
  Json json = to_json(shape);
  json["rms_norm_eps"] = shape.rms_eps;
  json["rope_theta"] = shape.rotary.back().theta;
  json["rope_scaling"] = Json(rope_json(shape.rotary.back().scaling));
  const auto host = unsupported_by_host(shape), cuda = unsupported_by_cuda(shape);
  json["not_computed"] = {{"host", host ? Json(*host) : Json()},
                          {"cuda", cuda ? Json(*cuda) : Json()}};
  if (shape.max_positions) json["max_position_embeddings"] = *shape.max_positions;
  if (shape.experts) {
    json["experts"] = {{"count", shape.experts->count},
                       {"active", shape.experts->active},
                       {"intermediate", shape.experts->intermediate},
                       {"normalized", shape.experts->normalized}};
  }
  json["schema"] = "sluice/model/1";
  for (const UnitRow& row : unit_rows(shape)) {
    const UnitTensors unit = unit_tensors(shape, row.index);
    Json tensors = Json::array();
    for (const TensorSpec& tensor : unit.tensors) {
      tensors.push_back({{"name", tensor.name}, {"rows", tensor.rows}, {"cols", tensor.cols}});
    }
    json["units"].push_back({{"unit", row.name},
                             {"count", row.times},
                             {"parameters", unit.parameters()},
                             {"tensors", std::move(tensors)}});
  }
  json["config"] = Json::parse(config_from_shape(shape));
  return json.dump(2) + "\n";
}

}  // namespace sluice::planner
