#include "engine/tokenizer/tokenizer.hpp"

#include <algorithm>

#include "engine/tokenizer/byte_letters.hpp"
#include "engine/tokenizer/normal_form.hpp"
#include "planner/catalogue/store.hpp"
#include "planner/files/whole_file.hpp"
#include "sim/error.hpp"
#include "sim/utf8.hpp"

namespace sluice::engine {
namespace {

constexpr std::int64_t kTellEvery = std::int64_t{1} << 20;

/// The added tokens that are searched for before (or after) the text is normalised.
std::vector<AddedToken> looked_for(const TokenizerParts& parts, bool normalized) {
  std::vector<AddedToken> tokens;
  for (const AddedToken& token : parts.added) {
    if (token.normalized == normalized) tokens.push_back(token);
  }
  return tokens;
}

/// Normalises the texts of tokens that are found in normalised text, so that decoding gives that
/// form, too.
TokenizerParts with_composed_tokens(TokenizerParts parts) {
  for (AddedToken& token : parts.added) {
    if (token.normalized && parts.composes) token.content = normal_form_c(token.content);
  }
  return parts;
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(with_composed_tokens(std::move(parts))),
      in_text_(looked_for(parts_, false)),
      in_normalized_(looked_for(parts_, true)) {
  for (const auto& [text, id] : parts_.pairs->vocabulary()) tokens_[id] = {text, false};
  for (const AddedToken& token : parts_.added) tokens_[token.id] = {token.content, token.special};
}

Tokenizer Tokenizer::from_file(const std::filesystem::path& file) {
  return Tokenizer(read_tokenizer(planner::read_whole_file(file), file.string()));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, SpecialTokens special,
                                       const TextProgress& progress) {
  if (const auto wrong = sim::first_not_utf8(text)) {
    throw BadRequest("text: byte " + std::to_string(*wrong) + " is not UTF-8: convert it");
  }
  std::vector<TokenId> ids;
  done_ = 0;
  tell_ = nullptr;
  if (progress) {
    tell_ = [this, &progress, all = std::ssize(text), told = std::int64_t{0}]() mutable {
      if (done_ - told < kTellEvery) return;
      told = done_;
      progress(std::min<std::int64_t>(done_, all), all);
    };
  }
  if (special == SpecialTokens::around) ids = parts_.before;
  in_text_.split(text, [&](const TextPart& part) {
    if (part.token) return ids.push_back(*part.token);
    const std::string normal = parts_.composes ? normal_form_c(part.text) : std::string(part.text);
    in_normalized_.split(normal, [&](const TextPart& inner) {
      if (inner.token) return ids.push_back(*inner.token);
      encode_plain(inner.text, ids);
    });
  });
  if (special == SpecialTokens::around) {
    ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
  }
  tell_ = nullptr;
  return ids;
}

void Tokenizer::encode_plain(std::string_view text, std::vector<TokenId>& ids) {
  if (!parts_.prefix_space || text.starts_with(' ')) return encode_piece(text, 0, ids);
  encode_piece(" " + std::string(text), 0, ids);
}

void Tokenizer::encode_piece(std::string_view text, std::size_t pattern,
                             std::vector<TokenId>& ids) {
  if (pattern == parts_.patterns.size()) {
    parts_.pairs->encode(text, ids);
    done_ += std::ssize(text);
    if (tell_) tell_();
    return;
  }
  parts_.patterns[pattern].split(
      text, [&](std::string_view piece) { encode_piece(piece, pattern + 1, ids); });
}

std::string Tokenizer::decode(std::span<const TokenId> ids, Special special) const {
  std::string bytes;
  for (const TokenId id : ids) {
    const auto found = tokens_.find(id);
    if (found == tokens_.end()) continue;
    if (special == Special::skipped && found->second.special) continue;
    bytes += bytes_of_letters(found->second.text).value_or(found->second.text);
  }
  return sim::with_replacements(bytes);
}

std::string Tokenizer::bytes_of(TokenId id) const {
  const auto found = tokens_.find(id);
  if (found == tokens_.end()) return {};
  return bytes_of_letters(found->second.text).value_or(found->second.text);
}

std::optional<TokenId> Tokenizer::find(const std::string& token) const {
  const auto added = std::ranges::find(parts_.added, token, &AddedToken::content);
  if (added != parts_.added.end()) return added->id;
  const auto found = parts_.pairs->vocabulary().find(token);
  if (found == parts_.pairs->vocabulary().end()) return std::nullopt;
  return found->second;
}

}  // namespace sluice::engine
