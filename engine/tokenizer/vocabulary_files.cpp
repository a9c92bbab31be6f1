// vocab.json and merges.txt, as GPT-2 and Qwen2 have them; what transformers' converters
// GPT2Converter and Qwen2Converter make of them.
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/model_files/strict_json.hpp"
#include "engine/tokenizer/folder_settings.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr const char* kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

json read_merges(const std::filesystem::path& file) {
  std::istringstream lines(planner::read_whole_file(file));
  json merges = json::array();
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string::npos || line.find(' ', space + 1) != std::string::npos) {
      throw BadRequest(file.string() + ": line " + std::to_string(number) +
                       " is not a pair of tokens");
    }
    merges.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return merges;
}

json byte_level_step(bool prefix, bool regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", prefix},
          {"trim_offsets", true},
          {"use_regex", regex}};
}

}  // namespace

bool converts_merges(const std::string& tokenizer_class) {
  return tokenizer_class == "GPT2Tokenizer" || tokenizer_class == "Qwen2Tokenizer";
}

json from_vocabulary_and_merges(const std::filesystem::path& folder) {
  const FolderSettings settings(folder);
  const std::filesystem::path vocabulary = folder / "vocab.json";
  constexpr int kLevelsOfVocabulary = 2;
  json document;
  document["model"] = {{"type", "BPE"},
                       {"vocab", parse_strict_json(planner::read_whole_file(vocabulary),
                                                   vocabulary.string(), kLevelsOfVocabulary)},
                       {"merges", read_merges(folder / "merges.txt")}};
  const bool prefix = settings.flag("add_prefix_space", false);
  if (settings.tokenizer_class() == "Qwen2Tokenizer") {
    document["normalizer"] = {{"type", "NFC"}};
    const json split = {{"type", "Split"},
                        {"pattern", {{"Regex", kQwen2Pattern}}},
                        {"behavior", "Isolated"},
                        {"invert", false}};
    document["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers", json::array({split, byte_level_step(prefix, false)})}};
  } else {
    document["pre_tokenizer"] = byte_level_step(prefix, true);
  }
  document["decoder"] = {{"type", "ByteLevel"}};
  document["added_tokens"] = settings.added_tokens(json::array());
  if (settings.tokenizer_class() == "GPT2Tokenizer" && settings.flag("add_bos_token", false)) {
    const std::string begin = settings.special_token("bos_token").value_or("<|endoftext|>");
    document["around"] = {{"before", begin}};
  }
  return document;
}

}  // namespace sluice::engine
