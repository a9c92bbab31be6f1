#include "engine/model_files/model_config.hpp"

#include <nlohmann/json.hpp>

#include "planner/catalogue/model_source.hpp"
#include "planner/models/rope_config.hpp"
#include "sim/error.hpp"
#include "sim/json_object.hpp"

namespace sluice::engine {
namespace {

using nlohmann::ordered_json;

/// Adds the spelling of RoPE that `json` lacks: rope_theta and rope_scaling are read by
/// transformers before 5, rope_parameters by 5.
void spell_rope_twice(ordered_json& json, const planner::ModelShape& shape) {
  const planner::RopeScaling& rope = shape.rotary.front().scaling;
  json["rope_theta"] = shape.rotary.front().theta;
  if (!json.contains("rope_scaling") || json["rope_scaling"].is_null()) {
    ordered_json scaling = planner::rope_json(rope);
    constexpr const char* kOriginal = "original_max_position_embeddings";
    // transformers before 5 takes yarn's factor from max_position_embeddings where this key stands.
    if (rope.kind == planner::RopeScaling::Kind::yarn &&
        rope.original_max_positions == shape.max_positions) {
      scaling.erase(kOriginal);
    }
    json["rope_scaling"] = std::move(scaling);
  }
  json["rope_parameters"] = planner::rope_parameters_json(shape);
}

}  // namespace

std::string model_config_text(const std::string& model) {
  return planner::config_text(planner::find_model_source(model));
}

std::string written_config(const std::string& config, ElementType type, const std::string& where) {
  ordered_json json = sim::json_tree(sim::parse_json(config, where).root());
  const planner::ModelShape shape = planner::shape_from_config(config, where);
  const ordered_json own = ordered_json::parse(planner::config_from_shape(shape));
  if (!json.contains("architectures")) json["architectures"] = own.at("architectures");
  json["torch_dtype"] = torch_name(type);
  json["dtype"] = torch_name(type);
  spell_rope_twice(json, shape);
  // Versions of transformers read either name of this key where a family has it.
  if (own.contains("num_experts")) {
    json["num_experts"] = shape.experts->count;
    json["num_local_experts"] = shape.experts->count;
  }
  return json.dump(2) + "\n";
}

}  // namespace sluice::engine
