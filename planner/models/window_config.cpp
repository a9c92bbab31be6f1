#include "planner/models/window_config.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "planner/models/family_defaults.hpp"

namespace sluice::planner {
namespace {

using sim::JsonObject;

constexpr const char* kSliding = "sliding_attention";

/// Whether layer_types says that all layers have a window (true) or none (false); none where the
/// key is absent.
std::optional<bool> stated_windows(const JsonObject& config, const ModelShape& shape) {
  if (!config.has("layer_types")) return std::nullopt;
  const std::vector<std::string> types = config.texts("layer_types");
  const auto windows = std::ranges::count(types, kSliding);
  const auto all = static_cast<std::ptrdiff_t>(types.size());
  if (std::ranges::count(types, "full_attention") + windows != all) {
    config.fail("layer_types", "only full_attention and sliding_attention are supported");
  }
  if (all != shape.layers) {
    config.fail("layer_types", "names " + std::to_string(all) +
                                   " layers, and num_hidden_layers is " +
                                   std::to_string(shape.layers));
  }
  if (windows != 0 && windows != all) {
    config.fail("layer_types", "full and sliding layers in one model are not supported");
  }
  return windows != 0;
}

/// The window's size; none where the key is null.
std::optional<std::int64_t> stated_size(const JsonObject& config, const ModelShape& shape) {
  if (config.json().contains("sliding_window")) return config.find_integer("sliding_window");
  return family_defaults(shape.family).sliding_window;
}

/// Window of qwen2 and qwen3: only where use_sliding_window says so, in the layers from
/// max_window_layers on unless layer_types says otherwise.
std::optional<std::int64_t> qwen_window(const JsonObject& config, const ModelShape& shape,
                                        std::optional<bool> stated) {
  const auto size = config.find_boolean("use_sliding_window").value_or(false)
                        ? stated_size(config, shape)
                        : std::nullopt;
  if (stated) {
    if (*stated && !size) {
      config.fail("layer_types", std::string("says ") + kSliding +
                                     ", which needs use_sliding_window: true and a sliding_window");
    }
    return *stated ? size : std::nullopt;
  }
  if (!size) return std::nullopt;
  const std::int64_t first = config.find_integer("max_window_layers").value_or(28);
  if (first > 0 && first < shape.layers) {
    config.fail("max_window_layers", std::to_string(first) + " of " + std::to_string(shape.layers) +
                                         " layers without a window: a mixture is not supported");
  }
  return first <= 0 ? size : std::nullopt;
}

/// Window of qwen3_moe. transformers before 4.53 leaves the first max_window_layers layers without
/// one, later versions do not look at that key.
std::optional<std::int64_t> qwen_moe_window(const JsonObject& config, const ModelShape& shape) {
  if (!config.find_boolean("use_sliding_window").value_or(false)) return std::nullopt;
  const auto size = stated_size(config, shape);
  if (size && config.find_integer("max_window_layers").value_or(0) > 0) {
    config.fail("max_window_layers",
                "versions of transformers differ on it for qwen3_moe: set it to 0 for a window in "
                "all layers, or use_sliding_window to false for none");
  }
  return size;
}

}  // namespace

std::optional<std::int64_t> sliding_window_of(const JsonObject& config, const ModelShape& shape) {
  // Every other layer has one; full attention in all is an upper bound.
  if (shape.family == Family::gpt_oss) return std::nullopt;
  const std::optional<bool> stated = stated_windows(config, shape);
  if (shape.family == Family::qwen2 || shape.family == Family::qwen3) {
    return qwen_window(config, shape, stated);
  }
  std::optional<std::int64_t> size;
  if (shape.family == Family::qwen3_moe) {
    size = qwen_moe_window(config, shape);
  } else if (shape.family != Family::llama) {
    size = stated_size(config, shape);
  }
  // These families' models do not look at layer_types.
  if (stated && *stated != size.has_value()) {
    config.fail("layer_types",
                std::string(*stated ? "says sliding_attention" : "says full_attention") +
                    ", which transformers does not look at in " + to_string(shape.family) +
                    " models, and sliding_window says " + (size ? std::to_string(*size) : "none") +
                    ": make them agree, or take layer_types out");
  }
  return size;
}

}  // namespace sluice::planner
