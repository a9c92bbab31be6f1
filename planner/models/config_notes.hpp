// Keys that a config.json leaves to transformers' defaults, and keys that it states in vain.
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

/// Those of defaulted_keys that are sizes with a default of their own, such as hidden_size;
/// head_dim and num_key_value_heads only in families where they do not follow from other sizes.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> defaulted_sizes(
    const std::string& json_text, const ModelShape& shape);

/// Defaulted keys as text: "hidden_size 4096, vocab_size 32000 (not in config.json; as transformers
/// has them)".
[[nodiscard]] std::string defaults_text(
    const std::vector<std::pair<std::string, std::string>>& keys);

/// What the config.json states and Sluice does not do as stated, one line each: dropout, code of
/// its own, scaling of RoPE that versions of transformers compute differently.
[[nodiscard]] std::vector<std::string> config_notes(const std::string& json_text,
                                                    const ModelShape& shape);

/// Element type that the config.json states as dtype or torch_dtype, such as "bfloat16"; empty
/// where it states none.
[[nodiscard]] std::string stated_dtype(const std::string& json_text);

}  // namespace sluice::planner
