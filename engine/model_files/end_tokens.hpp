// Tokens that end what a model writes, in generation_config.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::engine {

/// Text of a generation_config.json whose eos_token_id holds the ids of `text`, the present file
/// (may be empty), or, where that has none, those of `config`, a config.json; then those of `more`.
/// Returns `text` unchanged where nothing is added. Throws BadRequest if a text is malformed;
/// `where` names the present file.
[[nodiscard]] std::string with_end_tokens(const std::string& text, const std::string& config,
                                          const std::vector<std::int32_t>& more,
                                          const std::string& where);

}  // namespace sluice::engine
