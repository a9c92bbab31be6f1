#include "engine/tokenizer/added_tokens.hpp"

#include <algorithm>

#include "engine/tokenizer/unicode_properties.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// The last character of `text`, if there is one.
std::optional<sim::CodePoint> last_character(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0U) == 0x80) --begin;
  return sim::code_point_at(text, begin);
}

/// Number of bytes of white space at the end of `text`.
std::size_t space_at_end(std::string_view text) {
  std::size_t space = 0;
  while (const auto last = last_character(text.substr(0, text.size() - space))) {
    if (!is_white_space(last->value)) break;
    space += last->bytes;
  }
  return space;
}

/// Number of bytes of white space at the beginning of `text`.
std::size_t space_at_start(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto point = sim::code_point_at(text, at);
    if (!point || !is_white_space(point->value)) break;
    at += point->bytes;
  }
  return at;
}

/// Whether no letter of a word touches the bytes [begin, end) of `text`.
bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
  const auto before = last_character(text.substr(0, begin));
  if (before && is_word(before->value)) return false;
  const auto after =
      end < text.size() ? sim::code_point_at(text, end) : std::optional<sim::CodePoint>();
  return !after || !is_word(after->value);
}

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const std::string& content = tokens_[i].content;
    if (content.empty() || !by_content_.emplace(content, i).second) continue;
    auto& lengths = lengths_.at(static_cast<unsigned char>(content.front()));
    if (std::ranges::find(lengths, content.size()) == lengths.end()) {
      lengths.push_back(content.size());
    }
  }
  for (auto& lengths : lengths_) std::ranges::sort(lengths, std::greater<>());
}

const AddedToken* AddedTokenFinder::find(std::string_view text) const {
  for (const std::size_t length : lengths_[static_cast<unsigned char>(text.front())]) {
    if (length > text.size()) continue;
    const auto found = by_content_.find(text.substr(0, length));
    if (found != by_content_.end()) return &tokens_[found->second];
  }
  return nullptr;
}

void AddedTokenFinder::split(std::string_view text,
                             const std::function<void(const TextPart&)>& part) const {
  std::size_t done = 0;
  for (std::size_t at = 0; !by_content_.empty() && at < text.size();) {
    const AddedToken* found = nullptr;
    if (!lengths_[static_cast<unsigned char>(text[at])].empty()) found = find(text.substr(at));
    if (found == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + found->content.size();
    at = end;
    if (found->single_word && !stands_alone(text, begin, end)) continue;
    if (found->takes_left) begin = std::max(begin - space_at_end(text.substr(0, begin)), done);
    if (found->takes_right) end += space_at_start(text.substr(end));
    if (begin > done) part({done, begin, std::nullopt});
    part({begin, end, found->id});
    done = end;
  }
  if (done < text.size()) part({done, text.size(), std::nullopt});
}

}  // namespace sluice::engine
