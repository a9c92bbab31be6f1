#include "engine/tokenizer/tokenizer_folder.hpp"

#include "engine/model_files/written_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using std::filesystem::path;

bool has(const path& folder, const char* name) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(folder / name, ignored);
}

}  // namespace

std::string TokenizerFolder::hash() const {
  if (files.size() == 1) return read_record(files.front()).sha256;
  planner::CanonicalText text("sluice/tokenizer");
  for (const path& file : files) {
    const FileRecord record = read_record(file);
    text.add(record.name, record.sha256);
  }
  return text.hash();
}

Tokenizer TokenizerFolder::load() const {
  check(form == TokenizerForm::tokenizer_json, "the form of a tokenizer is known");
  return Tokenizer::from_file(main_file());
}

std::variant<TokenizerFolder, NoTokenizer> find_tokenizer(const path& folder) {
  if (has(folder, "tokenizer.json")) {
    return TokenizerFolder{TokenizerForm::tokenizer_json, folder, {folder / "tokenizer.json"}};
  }
  const std::string way = "; write a tokenizer.json with transformers: AutoTokenizer" +
                          std::string(".from_pretrained(FOLDER).save_pretrained(FOLDER)");
  for (const char* name : {"vocab.json", "merges.txt", "tokenizer.model", "spiece.model",
                           "vocab.txt", "tekken.json", "tiktoken.model", "qwen.tiktoken"}) {
    if (has(folder, name)) {
      return NoTokenizer{true, folder.string() + ": has " + name + " and no tokenizer.json" + way};
    }
  }
  return NoTokenizer{false, folder.string() + ": has no tokenizer: copy the tokenizer.json of " +
                                "the model into it"};
}

}  // namespace sluice::engine
