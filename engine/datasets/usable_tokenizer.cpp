#include "engine/datasets/usable_tokenizer.hpp"

#include <variant>

#include "engine/tokenizer/folder_settings.hpp"
#include "sim/error.hpp"
#include "sim/warning.hpp"

namespace sluice::engine {

namespace {

/// The id whose snapshot a folder of the hub's cache is, by its name ".../models--ORG--NAME/...";
/// none for other folders.
std::optional<std::string> hub_id_of(const std::filesystem::path& folder) {
  constexpr std::string_view kBegin = "models--";
  for (const auto& part : folder) {
    std::string name = part.string();
    const std::size_t between = name.find("--", kBegin.size());
    if (!name.starts_with(kBegin) || between == std::string::npos) continue;
    return name.substr(kBegin.size(), between - kBegin.size()) + "/" + name.substr(between + 2);
  }
  return std::nullopt;
}

}  // namespace

std::optional<TokenizerFolder> usable_tokenizer(const TokenizerPlace& place,
                                                std::optional<planner::DataReading> reading) {
  if (!place.folder) return std::nullopt;
  auto found = find_tokenizer(*place.folder);
  if (auto* tokenizer = std::get_if<TokenizerFolder>(&found)) {
    tokenizer->adds_further = reading != planner::DataReading::first;
    if (FolderSettings(tokenizer->folder).flag("split_special_tokens", false)) {
      sim::warn((tokenizer->folder / "tokenizer_config.json").string() +
                ": split_special_tokens is not done here: a special token in a text is one token");
    }
    return std::move(*tokenizer);
  }
  if (place.bytes) return std::nullopt;
  const NoTokenizer& none = std::get<NoTokenizer>(found);
  const auto id = none.has_files ? std::nullopt : hub_id_of(*place.folder);
  throw BadRequest(
      "model: has weights and no tokenizer.json: " +
      (id ? place.folder->string() + " was fetched in part: hf download " + *id : none.why) +
      "; or state data_format=bytes to take byte values as tokens");
}

}  // namespace sluice::engine
