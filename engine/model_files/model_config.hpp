// A model's config.json: where to find it, and how to write it into an exported folder.
#pragma once

#include <string>

#include "engine/model_files/element_type.hpp"

namespace sluice::engine {

/// Text of the config.json that a run's model name stands for (the names that planner::find_model
/// accepts). Throws BadRequest if there is none.
[[nodiscard]] std::string model_config_text(const std::string& model);

/// Whether a config.json is of a model that contains its text model, as one that sees does.
[[nodiscard]] bool is_wrapper(const std::string& config, const std::string& where);

/// `config` with `type` as its element type, without a quantization_config, and with the fields
/// added that transformers needs to choose a class. Element type, RoPE and the number of experts
/// stand there under the names that transformers 4 reads and under those of 5; in a wrapper, only
/// element types change. Everything else stays as it is. `where` names the text in errors. Throws
/// BadRequest if it is malformed.
[[nodiscard]] std::string written_config(const std::string& config, ElementType type,
                                         const std::string& where);

/// `config` with the quantization_config of experts in MXFP4.
[[nodiscard]] std::string with_mxfp4(const std::string& config, const std::string& where);

}  // namespace sluice::engine
