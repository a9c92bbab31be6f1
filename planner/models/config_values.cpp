#include "planner/models/config_values.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/error.hpp"

namespace sluice::planner {
namespace {

constexpr const char* kSliding = "sliding_attention";
constexpr const char* kFull = "full_attention";

}  // namespace

std::int64_t integer_or(const sim::JsonObject& config, const char* key, std::int64_t otherwise) {
  if (const auto given = config.find_integer(key)) return *given;
  if (config.json().contains(key)) {
    config.fail(key,
                "must be a number: leave it out for transformers' " + std::to_string(otherwise));
  }
  return otherwise;
}

bool boolean_or(const sim::JsonObject& config, const char* key, bool otherwise) {
  return config.find_boolean(key).value_or(otherwise);
}

void require_only(const sim::JsonObject& config, const char* key, double only, const char* reason) {
  if (config.has(key) && config.number(key) != only) config.fail(key, reason);
}

std::vector<bool> sliding_layers(const sim::JsonObject& config, const ModelShape& shape,
                                 const std::function<bool(std::int64_t)>& otherwise) {
  std::vector<bool> sliding;
  if (!config.has("layer_types")) {
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) sliding.push_back(otherwise(layer));
    return sliding;
  }
  const std::vector<std::string> types = config.texts("layer_types");
  for (const std::string& type : types) {
    if (type != kSliding && type != kFull) {
      config.fail("layer_types", "only full_attention and sliding_attention are supported");
    }
    sliding.push_back(type == kSliding);
  }
  if (std::ssize(types) != shape.layers) {
    config.fail("layer_types", "names " + std::to_string(types.size()) +
                                   " layers, and num_hidden_layers is " +
                                   std::to_string(shape.layers));
  }
  return sliding;
}

void set_layers(ModelShape& shape, const std::vector<LayerKind>& layers) {
  if (layers.empty()) return;  // validate() refuses a model without layers.
  shape.kinds.clear();
  shape.kind_of_layer.clear();
  for (const LayerKind& layer : layers) {
    const auto found = std::ranges::find(shape.kinds, layer);
    shape.kind_of_layer.push_back(static_cast<std::uint8_t>(found - shape.kinds.begin()));
    if (found == shape.kinds.end()) shape.kinds.push_back(layer);
    check(shape.kinds.size() < 256, "kinds of layers are few");
  }
  if (shape.kinds.size() == 1) shape.kind_of_layer.clear();
}

nlohmann::ordered_json layer_types_json(const ModelShape& shape) {
  nlohmann::ordered_json types = nlohmann::ordered_json::array();
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    types.push_back(layer_kind(shape, layer).window ? kSliding : kFull);
  }
  return types;
}

nlohmann::ordered_json window_json(const ModelShape& shape) {
  for (const LayerKind& kind : shape.kinds) {
    if (kind.window) return *kind.window;
  }
  return nullptr;
}

std::int64_t expert_count(const sim::JsonObject& config, std::int64_t otherwise) {
  const auto one = config.find_integer("num_experts");
  const auto other = config.find_integer("num_local_experts");
  if (one && other && *one != *other) {
    config.fail("num_experts", std::to_string(*one) + ", and num_local_experts is " +
                                   std::to_string(*other) + ": make them equal, or give one");
  }
  return one ? *one : other ? *other : integer_or(config, "num_experts", otherwise);
}

}  // namespace sluice::planner
