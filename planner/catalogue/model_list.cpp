#include "planner/catalogue/model_list.hpp"

#include <nlohmann/json.hpp>

#include "planner/catalogue/catalogue.hpp"
#include "planner/models/rope_config.hpp"
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
  if (const auto window = shape.kinds.front().window) json["sliding_window"] = *window;
  return json;
}

Json to_json(const CatalogueModel& model) {
  Json json = to_json(find_model(model.name));
  if (!model.hf_id.empty()) json["hf_id"] = model.hf_id;
  json["source"] = model.source;
  return json;
}

}  // namespace

std::array<UnitRow, 3> unit_rows(const ModelShape& shape) {
  const std::size_t head = unit_count(shape) - 1;
  return {{{"embed", 0, 1}, {"block", 1, shape.layers}, {"head", head, 1}}};
}

std::string model_list_json() {
  Json json = {{"schema", "sluice/model-list/1"}, {"models", Json::array()}};
  for (const CatalogueModel& model : catalogue_models()) json["models"].push_back(to_json(model));
  return json.dump(2) + "\n";
}

std::string model_json(const ModelShape& shape) {
  Json json = to_json(shape);
  json["rms_norm_eps"] = shape.rms_eps;
  json["rope_theta"] = shape.rotary.front().theta;
  json["rope_scaling"] = Json(rope_json(shape.rotary.front().scaling));
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
