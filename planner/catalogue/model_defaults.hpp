// Note on a model whose config.json leaves sizes to transformers' defaults.
#pragma once

#include <optional>
#include <string>

namespace sluice::planner {

/// Note that lists the sizes which the model's config.json leaves out, with the values that
/// transformers gives them; none for models of the catalogue, where every size is stated or follows
/// from those that are, and where the model cannot be read, whose error find_model gives.
[[nodiscard]] std::optional<std::string> default_sizes_note(const std::string& model);

}  // namespace sluice::planner
