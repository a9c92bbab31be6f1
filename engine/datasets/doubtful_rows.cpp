#include "engine/datasets/doubtful_rows.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace sluice::engine {
namespace {

constexpr std::array<std::string_view, 4> kNothing = {"NaN", "nan", "<NA>", "NULL"};
constexpr std::array<std::string_view, 6> kSpeakers = {"user",  "assistant", "prompter",
                                                       "human", "gpt",       "bot"};

/// A field's text if it is one of `words`; empty for any other value.
template <std::size_t kSize>
std::string word_among(const std::array<std::string_view, kSize>& words, const Json& row,
                       const std::string& field) {
  const auto found = row.find(field);
  if (found == row.end() || !found->is_string()) return {};
  const auto& value = found->get_ref<const std::string&>();
  return std::ranges::find(words, value) == words.end() ? std::string() : value;
}

}  // namespace

void DoubtfulRows::add(const std::string& where, const std::string& doubt) {
  if (doubt.empty()) return;
  const auto known = std::ranges::find(rows_, doubt, &LeftOutRows::reason);
  if (known != rows_.end()) {
    ++known->rows;
    return;
  }
  rows_.push_back({.reason = doubt, .rows = 1, .first = where});
}

std::string doubt_of_row(const Json& row, const ExampleFormat& format, bool csv) {
  const bool text = format.kind == planner::DataFormat::jsonl;
  if (text && !word_among(kSpeakers, row, "role").empty()) {
    return format.text +
           ": stands beside a role, as a message of a conversation does, and is learnt as a text "
           "of "
           "its own: write the messages of each conversation as a row {\"messages\": [...]}";
  }
  if (!csv) return {};
  for (const std::string* field : {&format.prompt, &format.query, &format.response, &format.text,
                                   &format.completion, &format.system}) {
    const std::string word = word_among(kNothing, row, *field);
    if (word.empty()) continue;
    return *field + ": \"" + word +
           "\", a word of other programs for nothing, is learnt as a text: write such a field "
           "empty";
  }
  return {};
}

}  // namespace sluice::engine
