#include "engine/rows/split_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>
#include <set>
#include <utility>

namespace sluice::engine {
namespace {

using std::filesystem::path;

constexpr std::array<std::string_view, 8> kHeldOut = {
    "test", "valid", "validation", "val", "dev", "testing", "eval", "evaluation"};

/// Words of a file's name and of its folders: what is between other letters.
std::set<std::string> words_of(const path& file) {
  std::set<std::string> words;
  std::string word;
  for (const char letter : in_lower_case(file.string()) + "/") {
    if (std::isalpha(static_cast<unsigned char>(letter)) != 0) {
      word += letter;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  return words;
}

bool is_held_out(const std::set<std::string>& words) {
  return std::ranges::any_of(
      kHeldOut, [&](std::string_view each) { return words.contains(std::string(each)); });
}

bool mark_split(const std::set<std::string>& words, const std::string& split) {
  const bool of_validation =
      split == "validation" &&
      (words.contains("val") || words.contains("valid") || words.contains("dev"));
  return words.contains(in_lower_case(split)) || of_validation;
}

/// Whether two letters that stand side by side are of one word or one number.
bool goes_on(unsigned char a, unsigned char b) {
  return (std::isalpha(a) != 0 && std::isalpha(b) != 0) ||
         (std::isdigit(a) != 0 && std::isdigit(b) != 0);
}

}  // namespace

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string advice_on_slices(const std::string& split) {
  if (split.find('[') == std::string::npos) return {};
  return "; a slice of a split is not read: give max_samples, a number of rows from the first on";
}

bool has_word(std::string_view text, std::string_view word) {
  if (word.empty()) return false;
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !goes_on(text[at - 1], word.front());
    const bool ends = end == text.size() || !goes_on(word.back(), text[end]);
    if (begins && ends) return true;
  }
  return false;
}

bool marks_split(const path& file, const std::string& split) {
  return shard_label(file) == split || mark_split(words_of(file), split) ||
         has_word(file.string(), split);
}

std::optional<Shard> shard_of(const std::string& name) {
  static const std::regex kShard("(.*)-([0-9]{5})-of-([0-9]{5})(.*)");
  std::smatch parts;
  if (!std::regex_match(name, parts, kShard)) return std::nullopt;
  return Shard{parts[1].str(), parts[2].str(), parts[3].str(), parts[4].str()};
}

std::optional<std::string> shard_label(const path& file) {
  const auto shard = shard_of(file.filename().string());
  return shard ? std::optional(shard->label) : std::nullopt;
}

SplitFiles files_of_split(const std::vector<path>& files, const path& folder,
                          const std::string& split) {
  std::vector<path> labelled, marked, unmarked;
  for (const path& file : files) {
    const std::set<std::string> words = words_of(file.lexically_relative(folder));
    const auto label = shard_label(file);
    if (label == split) labelled.push_back(file);
    if (mark_split(words, split)) {
      marked.push_back(file);
    } else if (!is_held_out(words) && !words.contains("train")) {
      unmarked.push_back(file);
    }
  }
  if (split != "train") return {.files = labelled.empty() ? marked : labelled};
  if (labelled.empty() && marked.empty()) return {.files = unmarked};
  SplitFiles found{.files = labelled.empty() ? marked : labelled, .unread = std::move(unmarked)};
  for (const path& file : marked) {
    if (!labelled.empty() && !shard_label(file)) found.unread.push_back(file);
  }
  return found;
}

}  // namespace sluice::engine
