// Added tokens that a model's folder states beside its tokenizer.json.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace sluice::engine {

/// Tokens that the settings of a folder with a tokenizer.json add to those of that file, or whose
/// flags they change, in the form and order in which transformers adds them behind the file's own:
/// the `added_tokens_decoder` of tokenizer_config.json, else added_tokens.json, and special tokens.
/// "if_known" marks those that are tokens only where the vocabulary has them, "replaces" those
/// whose flags hold instead of the file's own. An empty list for most folders. Throws BadRequest if
/// a file is malformed.
[[nodiscard]] nlohmann::json further_tokens(const std::filesystem::path& folder);

}  // namespace sluice::engine
