#include "engine/tokenizer/tokenizer_folder.hpp"

#include <nlohmann/json.hpp>
#include <optional>

#include "engine/model_files/strict_json.hpp"
#include "engine/model_files/written_file.hpp"
#include "engine/tokenizer/folder_settings.hpp"
#include "engine/tokenizer/further_tokens.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

bool has(const path& folder, const char* name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / name, ignored);
}

/// The tokenizer of a tokenizer.json to which the files beside it add tokens.
Tokenizer with_further_tokens(const path& file, const nlohmann::json& further) {
  if (further.empty()) return Tokenizer::from_file(file);
  constexpr int kLevels = 32;
  nlohmann::json document =
      parse_strict_json(planner::read_whole_file(file), file.string(), kLevels);
  if (document.is_object()) {
    nlohmann::json& added = document["added_tokens"];
    if (added.is_null()) added = nlohmann::json::array();
    if (added.is_array()) added.insert(added.end(), further.begin(), further.end());
  }
  return Tokenizer(read_tokenizer(document, file.string()));
}

}  // namespace

std::string TokenizerFolder::hash() const {
  if (form == TokenizerForm::tokenizer_json) {
    std::string file = read_record(files.front()).sha256;
    if (!adds_further) return file;
    const nlohmann::json further = further_tokens(folder);
    if (further.empty()) return file;
    return planner::CanonicalText("sluice/tokenizer")
        .add("tokenizer.json", file)
        .add("further", further.dump())
        .hash();
  }
  planner::CanonicalText text("sluice/tokenizer");
  for (const path& file : files) {
    const FileRecord record = read_record(file);
    text.add(record.name, record.sha256);
  }
  return text.hash();
}

Tokenizer TokenizerFolder::load() const {
  const std::string where = main_file().string();
  switch (form) {
    case TokenizerForm::tokenizer_json:
      return with_further_tokens(main_file(),
                                 adds_further ? further_tokens(folder) : nlohmann::json::array());
    case TokenizerForm::vocabulary_and_merges:
      return Tokenizer(read_tokenizer(from_vocabulary_and_merges(folder), where));
    case TokenizerForm::sentencepiece:
      return Tokenizer(read_tokenizer(from_sentencepiece(folder), where));
  }
  return Tokenizer::from_file(main_file());
}

std::variant<TokenizerFolder, NoTokenizer> find_tokenizer(const path& folder) {
  if (has(folder, "tokenizer.json")) {
    return TokenizerFolder{TokenizerForm::tokenizer_json, folder, {folder / "tokenizer.json"}};
  }
  const std::string way =
      std::string("; write a tokenizer.json with transformers: AutoTokenizer.from_pretrained(") +
      "FOLDER).save_pretrained(FOLDER)";
  const bool merges = has(folder, "vocab.json") && has(folder, "merges.txt");
  if (merges || has(folder, "tokenizer.model")) {
    const FolderSettings settings(folder);
    const std::string& kind = settings.tokenizer_class();
    std::optional<TokenizerFolder> found;
    if (merges && converts_merges(kind)) {
      found = {TokenizerForm::vocabulary_and_merges,
               folder,
               {folder / "vocab.json", folder / "merges.txt"}};
    } else if (has(folder, "tokenizer.model") && converts_sentencepiece(kind)) {
      found = {TokenizerForm::sentencepiece, folder, {folder / "tokenizer.model"}};
    }
    if (found) {
      found->files.insert(found->files.end(), settings.files().begin(), settings.files().end());
      return *found;
    }
    const std::string file = merges ? "vocab.json and merges.txt" : "tokenizer.model";
    return NoTokenizer{
        true,
        folder.string() + ": has " + file + " and no tokenizer.json, and " +
            (kind.empty() ? "neither tokenizer_config.json nor config.json says of which class"
                          : "the class " + kind + " is read from tokenizer.json alone") +
            way};
  }
  for (const char* name : {"vocab.json", "merges.txt", "spiece.model", "vocab.txt", "tekken.json",
                           "tiktoken.model", "qwen.tiktoken"}) {
    if (has(folder, name)) {
      return NoTokenizer{true, folder.string() + ": has " + name + " and no tokenizer.json" + way};
    }
  }
  return NoTokenizer{false, folder.string() + ": has no tokenizer: copy the tokenizer.json of " +
                                "the model into it"};
}

}  // namespace sluice::engine
