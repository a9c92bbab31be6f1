// What a config.json leaves to transformers' defaults, and what it states in vain.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Keys that matter to `shape`'s family and that the config.json leaves out, each with the value,
/// as JSON, that transformers gives it.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> defaulted_keys(
    const std::string& json_text, const ModelShape& shape);

/// Things that the config.json states and that are not done as stated, one line each: dropout, code
/// of its own, scaling of RoPE that versions of transformers compute differently.
[[nodiscard]] std::vector<std::string> config_notes(const std::string& json_text,
                                                    const ModelShape& shape);

/// Element type that the config.json states ("bfloat16"), under either name; empty where it states
/// none.
[[nodiscard]] std::string stated_dtype(const std::string& json_text);

}  // namespace sluice::planner
