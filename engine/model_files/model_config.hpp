// The config.json of a model, and as a written folder states it.
#pragma once

#include <string>

#include "engine/model_files/element_type.hpp"

namespace sluice::engine {

/// The config.json text behind a run's model word (planner::find_model accepts the same words).
/// Throws BadRequest where there is none.
[[nodiscard]] std::string model_config_text(const std::string& model);

/// `config` with the element type of the weights beside it (torch_dtype; dtype too where it is
/// there) and, where they are missing, what transformers needs to choose a class. Everything else
/// stays as it is. `where` names the text in errors. Throws BadRequest.
[[nodiscard]] std::string written_config(const std::string& config, ElementType type,
                                         const std::string& where);

}  // namespace sluice::engine
