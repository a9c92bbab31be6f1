#include "planner/models/window_config.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "planner/models/config_values.hpp"
#include "planner/models/family_defaults.hpp"

namespace sluice::planner {
namespace {

using sim::JsonObject;

/// The window's size; none where the key is null.
std::optional<std::int64_t> stated_size(const JsonObject& config, const ModelShape& shape) {
  if (config.json().contains("sliding_window")) return config.find_integer("sliding_window");
  return family_defaults(shape.family).sliding_window;
}

}  // namespace

std::vector<bool> qwen_windows(const JsonObject& config, const ModelShape& shape) {
  const auto size =
      boolean_or(config, "use_sliding_window", false) ? stated_size(config, shape) : std::nullopt;
  const std::int64_t first = config.find_integer("max_window_layers").value_or(28);
  std::vector<bool> sliding = sliding_layers(
      config, shape, [&](std::int64_t layer) { return size.has_value() && layer >= first; });
  if (!size && std::ranges::find(sliding, true) != sliding.end()) {
    config.fail(
        "layer_types",
        "says sliding_attention, which needs use_sliding_window: true and a sliding_window");
  }
  return sliding;
}

std::optional<std::int64_t> qwen_moe_window(const JsonObject& config, const ModelShape& shape) {
  if (!boolean_or(config, "use_sliding_window", false)) return std::nullopt;
  const auto size = stated_size(config, shape);
  if (size && config.find_integer("max_window_layers").value_or(0) > 0) {
    config.fail("max_window_layers",
                "versions of transformers differ on it for this family: set it to 0 for a window "
                "in all layers, or use_sliding_window to false for none");
  }
  return size;
}

std::optional<std::int64_t> window_size(const JsonObject& config, const ModelShape& shape) {
  return stated_size(config, shape);
}

void require_layer_types(const JsonObject& config, const ModelShape& shape,
                         std::optional<std::int64_t> size) {
  const std::vector<bool> sliding =
      sliding_layers(config, shape, [&](std::int64_t) { return size.has_value(); });
  const auto windows = std::ranges::count(sliding, true);
  if (windows != 0 && windows != std::ssize(sliding)) {
    config.fail("layer_types", "full and sliding layers in one model are not supported for " +
                                   std::string(to_string(shape.family)));
  }
  if (sliding.empty() || sliding.front() == size.has_value()) return;
  config.fail("layer_types",
              std::string(sliding.front() ? "says sliding_attention" : "says full_attention") +
                  ", which transformers does not look at in " + to_string(shape.family) +
                  " models, and sliding_window says " + (size ? std::to_string(*size) : "none") +
                  ": make them agree, or take layer_types out");
}

}  // namespace sluice::planner
