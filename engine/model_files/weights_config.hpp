// What a config.json says of the weights beside it, beyond the model's shape.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/model_files/stored_tensor.hpp"

namespace sluice::engine {

struct WeightsConfig {
  /// Layers behind the model's own that predict further tokens.
  std::int64_t prediction_layers = 0;
  /// quantization_config's quant_method; none without a quantization_config, empty where that has
  /// no such key.
  std::optional<std::string> quantisation{};
  BlockSize block{};  ///< Blocks of FP8 weights: weight_block_size.
};

/// Reads the config.json of `folder`; all defaults if there is none. Throws BadRequest `FILE: ...`
/// if it is malformed.
[[nodiscard]] WeightsConfig read_weights_config(const std::filesystem::path& folder);

}  // namespace sluice::engine
