#include "engine/tokenizer/further_tokens.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "engine/model_files/strict_json.hpp"
#include "engine/tokenizer/folder_settings.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr int kTokenLevels = 32;

/// Index behind the list that begins at `begin` of a JSON text; the text's size if it does not end.
std::size_t list_end(std::string_view text, std::size_t begin) {
  std::int64_t depth = 0;
  bool quoted = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (quoted) {
      i += text[i] == '\\' ? 1 : 0;
      continue;
    }
    depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth == 0) return i + 1;
  }
  return text.size();
}

/// The list "added_tokens" of the text of a tokenizer.json, without reading its vocabulary, which
/// is long; empty without one. Throws BadRequest naming `file` if the list is malformed.
json added_tokens_in(std::string_view text, const std::string& file) {
  constexpr std::string_view kName = "\"added_tokens\"";
  constexpr std::string_view kSpace = " \t\r\n";
  for (std::size_t at = text.find(kName); at != std::string_view::npos;
       at = text.find(kName, at + 1)) {
    const std::size_t colon = text.find_first_not_of(kSpace, at + kName.size());
    if (colon == std::string_view::npos || text[colon] != ':') continue;
    const std::size_t list = text.find_first_not_of(kSpace, colon + 1);
    if (list == std::string_view::npos || text[list] != '[') continue;  // A token of that name.
    const std::size_t end = list_end(text, list);
    return parse_strict_json(std::string(text.substr(list, end - list)), file, kTokenLevels);
  }
  return json::array();
}

/// Whether a JSON text holds a string, in either spelling of its letters.
bool is_written_in(const std::string& text, const json& string) {
  constexpr bool kAscii = true;
  return text.find(string.dump()) != std::string::npos ||
         text.find(string.dump(-1, ' ', kAscii)) != std::string::npos;
}

/// Whether two tokens have the same flags, whatever ids they state.
bool same_flags(const json& one, const json& other) {
  const auto flag = [](const json& token, const char* name, bool otherwise) {
    const auto found = token.find(name);
    return found != token.end() && found->is_boolean() ? found->get<bool>() : otherwise;
  };
  const bool special = flag(one, "special", false);
  if (special != flag(other, "special", false)) return false;
  for (const char* name : {"single_word", "lstrip", "rstrip"}) {
    if (flag(one, name, false) != flag(other, name, false)) return false;
  }
  return flag(one, "normalized", !special) == flag(other, "normalized", !special);
}

}  // namespace

json further_tokens(const std::filesystem::path& folder) {
  const std::string text = planner::read_whole_file(folder / "tokenizer.json");
  const json known = added_tokens_in(text, (folder / "tokenizer.json").string());
  json further = json::array();
  for (json& token : FolderSettings(folder).stated_tokens()) {
    const auto same = std::ranges::find_if(known, [&](const json& each) {
      return each.is_object() && each.value("content", json()) == token["content"];
    });
    const bool changes = token["changes"].get<bool>();
    token.erase("changes");
    token["replaces"] = changes;
    if (token.contains("if_known") && !is_written_in(text, token["content"])) continue;
    if (same != known.end() && (!changes || same_flags(*same, token))) continue;
    further.push_back(std::move(token));
  }
  return further;
}

}  // namespace sluice::engine
