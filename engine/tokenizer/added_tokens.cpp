#include "engine/tokenizer/added_tokens.hpp"

#include <algorithm>

#include "engine/tokenizer/unicode_tables.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

/// Number of bytes of white space at the end of `text`.
std::size_t space_at_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0U) == 0x80) --begin;
    const auto point = sim::code_point_at(text, begin);
    if (!point || !is_white_space(point->value)) break;
    end = begin;
  }
  return text.size() - end;
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

}  // namespace

AddedTokenFinder::AddedTokenFinder(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  std::ranges::stable_sort(tokens_, std::greater<>(),
                           [](const AddedToken& token) { return token.content.size(); });
  for (const AddedToken& token : tokens_) {
    if (first_bytes_.find(token.content.front()) == std::string::npos) {
      first_bytes_ += token.content.front();
    }
  }
}

void AddedTokenFinder::split(std::string_view text,
                             const std::function<void(const TextPart&)>& part) const {
  std::size_t done = 0;
  for (std::size_t at = text.find_first_of(first_bytes_); at < text.size();) {
    const auto found = std::ranges::find_if(tokens_, [&](const AddedToken& token) {
      return text.substr(at).starts_with(token.content);
    });
    if (found == tokens_.end()) {
      at = text.find_first_of(first_bytes_, at + 1);
      continue;
    }
    std::size_t begin = at, end = at + found->content.size();
    const std::size_t next = end;
    if (found->takes_left) begin = std::max(begin - space_at_end(text.substr(0, begin)), done);
    if (found->takes_right) end += space_at_start(text.substr(end));
    if (begin > done) part({text.substr(done, begin - done), std::nullopt});
    part({found->content, found->id});
    done = end;
    at = text.find_first_of(first_bytes_, next);
  }
  if (done < text.size()) part({text.substr(done), std::nullopt});
}

}  // namespace sluice::engine
