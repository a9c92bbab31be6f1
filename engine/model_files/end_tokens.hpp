// Tokens that end what a model writes, in generation_config.json.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::engine {

/// A generation_config.json whose eos_token_id holds `more` too, behind those that it has; those of
/// `config`, a config.json, where it has none. `text` is the present file's, or empty. The text
/// stays as it is where it has them all. `where` names the file in errors. Throws BadRequest.
[[nodiscard]] std::string with_end_tokens(const std::string& text, const std::string& config,
                                          const std::vector<std::int32_t>& more,
                                          const std::string& where);

}  // namespace sluice::engine
