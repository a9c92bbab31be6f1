#include "planner/models/routed_config.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/models/config_values.hpp"

namespace sluice::planner {
namespace {

using nlohmann::ordered_json;
using sim::JsonObject;

constexpr const char* kMlpTypes = "mlp_layer_types";

std::int64_t dense_layers(const JsonObject& config, const ModelShape& shape, std::int64_t usual) {
  require_only(config, "moe_layer_freq", 1, "only 1 is supported: all later layers have experts");
  if (!config.has(kMlpTypes)) return integer_or(config, "first_k_dense_replace", usual);
  std::int64_t dense = 0, layer = 0;
  for (const std::string& type : config.texts(kMlpTypes)) {
    if (type != "dense" && type != "sparse") {
      config.fail(kMlpTypes, "only dense and sparse are supported");
    }
    if (type == "dense" && dense != layer) {
      config.fail(kMlpTypes, "only dense layers before all others are supported");
    }
    dense += type == "dense" ? 1 : 0;
    ++layer;
  }
  if (layer != shape.layers) config.fail(kMlpTypes, "must name num_hidden_layers layers");
  return dense;
}

}  // namespace

void read_routed(const JsonObject& config, ModelShape& shape, const UsualRouting& usual) {
  std::vector<LayerKind> layers(static_cast<std::size_t>(shape.layers));
  const std::int64_t count = std::min(dense_layers(config, shape, usual.dense), shape.layers);
  for (std::int64_t layer = 0; layer < count; ++layer) {
    layers[static_cast<std::size_t>(layer)].dense_intermediate = shape.intermediate;
  }
  set_layers(shape, layers);
  Experts experts = usual.experts;
  experts.count = integer_or(config, "n_routed_experts", experts.count);
  experts.active = integer_or(config, "num_experts_per_tok", experts.active);
  experts.intermediate = integer_or(config, "moe_intermediate_size", experts.intermediate);
  experts.normalized = boolean_or(config, "norm_topk_prob", experts.normalized);
  experts.groups = config.find_integer("n_group").value_or(experts.groups);
  experts.active_groups = config.find_integer("topk_group").value_or(experts.active_groups);
  experts.scaling = config.find_number("routed_scaling_factor").value_or(experts.scaling);
  experts.shared_intermediate =
      integer_or(config, "n_shared_experts", usual.shared) * experts.intermediate;
  shape.experts = experts;
  shape.names.experts.shared = "mlp.shared_experts";
  shape.intermediate = experts.active * experts.intermediate;
}

void write_routed(const ModelShape& shape, ordered_json& json) {
  const Experts& experts = *shape.experts;
  std::int64_t dense = 0;
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    const auto width = layer_kind(shape, layer).dense_intermediate;
    if (!width) continue;
    ++dense;
    json["intermediate_size"] = *width;
  }
  json["first_k_dense_replace"] = dense;
  json["n_routed_experts"] = experts.count;
  json["num_experts_per_tok"] = experts.active;
  json["moe_intermediate_size"] = experts.intermediate;
  json["norm_topk_prob"] = experts.normalized;
  json["n_group"] = experts.groups;
  json["topk_group"] = experts.active_groups;
  json["routed_scaling_factor"] = experts.scaling;
  json["n_shared_experts"] = experts.shared_intermediate / experts.intermediate;
}

ordered_json mlp_layer_types_json(const ModelShape& shape) {
  ordered_json types = ordered_json::array();
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    types.push_back(layer_kind(shape, layer).dense_intermediate ? "dense" : "sparse");
  }
  return types;
}

}  // namespace sluice::planner
