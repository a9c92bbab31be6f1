// Tokenizer, chat template and weights that a model's folder has, as JSON and as text.
#pragma once

#include <optional>
#include <string>

#include "engine/model_files/weights_report.hpp"
#include "planner/models/shape.hpp"
#include "sim/json_object.hpp"

namespace sluice::cli {

/// Tokenizer, chat template and weights in the folder of a model's config.json.
struct ModelFiles {
  std::string tokenizer_kind;  ///< "BPE", ..., "bytes"; empty where none can be read.
  std::string tokenizer_file;
  std::string tokenizer_problem;             ///< Why no tokenizer can be read; empty where one can.
  std::optional<std::string> template_file;  ///< File of the chat template, if any.
  std::optional<std::string> folder;  ///< Folder of the weights; none where the model has none.
  engine::WeightsReport weights;
};

/// Reads the tokenizer, the template and the headers of weights beside the config.json of the model
/// called `name`, but no weights.
[[nodiscard]] ModelFiles read_model_files(const std::string& name,
                                          const planner::ModelShape& shape);

/// The fields tokenizer, template and weights of docs/schemas/model.schema.json.
[[nodiscard]] sim::Json model_files_json(const ModelFiles& files);
[[nodiscard]] std::string model_files_table(const ModelFiles& files);

}  // namespace sluice::cli
