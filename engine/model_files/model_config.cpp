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
  if (shape.rotary.size() > 1) {
    const ordered_json own = ordered_json::parse(planner::config_from_shape(shape));
    for (const char* key : {"rope_theta", "rope_local_base_freq", "rope_scaling"}) {
      if (!json.contains(key) && own.contains(key)) json[key] = own[key];
    }
    json["rope_parameters"] = own.contains("rope_parameters")
                                  ? own["rope_parameters"]
                                  : planner::rope_parameters_json(shape);
    return;
  }
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
    if (!scaling.is_null()) planner::add_scale_keys(shape, scaling);
    json["rope_scaling"] = std::move(scaling);
  }
  json["rope_parameters"] = planner::rope_parameters_json(shape);
}

/// States the element type as transformers before 5 reads it, and as 5 does.
void set_type(ordered_json& json, ElementType type) {
  json["torch_dtype"] = torch_name(type);
  json["dtype"] = torch_name(type);
}

}  // namespace

std::string model_config_text(const std::string& model) {
  return planner::config_text(planner::find_model_source(model));
}

std::string written_config(const std::string& config, ElementType type, const std::string& where) {
  ordered_json json = sim::json_tree(sim::parse_json(config, where).root());
  json.erase("quantization_config");
  if (json.contains("text_config") && json["text_config"].is_object()) {
    set_type(json, type);
    set_type(json["text_config"], type);
    return json.dump(2) + "\n";
  }
  const planner::ModelShape shape = planner::shape_from_config(config, where);
  const ordered_json own = ordered_json::parse(planner::config_from_shape(shape));
  if (!json.contains("architectures")) json["architectures"] = own.at("architectures");
  set_type(json, type);
  spell_rope_twice(json, shape);
  // Versions of transformers read either name of this key where a family has it.
  if (own.contains("num_experts")) {
    json["num_experts"] = shape.experts->count;
    json["num_local_experts"] = shape.experts->count;
  }
  return json.dump(2) + "\n";
}

bool is_wrapper(const std::string& config, const std::string& where) {
  const ordered_json json = sim::json_tree(sim::parse_json(config, where).root());
  return json.contains("text_config") && json["text_config"].is_object();
}

std::string with_mxfp4(const std::string& config, const std::string& where) {
  ordered_json json = sim::json_tree(sim::parse_json(config, where).root());
  json["quantization_config"] = {
      {"modules_to_not_convert",
       {"model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"}},
      {"quant_method", "mxfp4"}};
  return json.dump(2) + "\n";
}

}  // namespace sluice::engine
