// Table of a model's source and of what will be trained.
#pragma once

#include <string>

#include "planner/catalogue/model_source.hpp"
#include "planner/models/shape.hpp"

namespace sluice::cli {

/// Text of a kind of source: "catalogue", "Hugging Face cache", ...
[[nodiscard]] const char* to_string(planner::ModelSource::Kind kind);

/// A line of a table of facts: a word in a column of its own, then text.
[[nodiscard]] std::string fact_line(const std::string& word, const std::string& text);

/// Lines of facts: source, layers, attention, RoPE, norms, experts, element type, fields that
/// config.json leaves to defaults and fields of it that are not used, memory of the state.
[[nodiscard]] std::string model_table(const planner::ModelSource& source,
                                      const std::string& config_text,
                                      const planner::ModelShape& shape);

}  // namespace sluice::cli
