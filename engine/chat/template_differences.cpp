#include "engine/chat/template_differences.hpp"

#include <algorithm>

namespace sluice::engine {
namespace {

/// Bytes of an example before and behind the first difference.
constexpr std::size_t kBefore = 24, kBehind = 56;

std::vector<Conversation> examples() {
  const ChatMessage system = chat_message("system", "Be short.");
  const ChatMessage question = chat_message("user", "Hi");
  const ChatMessage answer = chat_message("assistant", "Hello.");
  const ChatMessage thought = chat_message("assistant", "<think>\nHm.\n</think>\n\nHello.");
  return {{.messages = {question, answer}},
          {.messages = {system, question, answer}},
          {.messages = {question, answer, question, answer}},
          {.messages = {question, thought, question, thought}}};
}

std::string text_of(const Rendered& rendered) {
  if (!rendered.left_out.empty()) return "(" + rendered.left_out + ")";
  std::string text;
  for (const ChatPiece& piece : rendered.pieces) text += piece.text;
  return text;
}

/// Whether a byte begins a character of UTF-8.
bool begins(const std::string& text, std::size_t at) {
  return at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
}

/// The part of a text around a place, on one line and in quotes.
std::string around(const std::string& text, std::size_t at) {
  std::size_t first = at > kBefore ? at - kBefore : 0;
  std::size_t last = std::min(text.size(), at + kBehind);
  while (!begins(text, first)) --first;
  while (!begins(text, last)) ++last;
  std::string out = first > 0 ? "\"..." : "\"";
  for (const char letter : text.substr(first, last - first)) {
    if (letter == '\n') {
      out += "\\n";
    } else {
      out += letter;
    }
  }
  return out + (last < text.size() ? "...\"" : "\"");
}

}  // namespace

std::optional<std::string> template_difference(const ChatTemplate& chosen,
                                               const ChatTemplate& own) {
  const std::vector<Conversation> conversations = examples();
  const std::vector<Rendered> ones = chosen.render(conversations);
  const std::vector<Rendered> others = own.render(conversations);
  for (std::size_t i = 0; i < conversations.size(); ++i) {
    const std::string one = text_of(ones[i]);
    const std::string other = text_of(others[i]);
    if (one == other) continue;
    const auto at = static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
    return chosen.name() + " writes " + around(one, at) + ", and " + own.name() + " " +
           around(other, at);
  }
  return std::nullopt;
}

}  // namespace sluice::engine
