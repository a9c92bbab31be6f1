#include "cli/shown/shown_row.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace sluice::cli {
namespace {

const char* begin_mark(LearntMarks marks) {
  return marks == LearntMarks::colours ? "\x1b[32m" : "[[";
}
const char* end_mark(LearntMarks marks) { return marks == LearntMarks::colours ? "\x1b[0m" : "]]"; }

void append_visible(std::string& out, std::string_view text) {
  for (const char letter : text) {
    const auto code = static_cast<unsigned char>(letter);
    const bool plain = (code >= 0x20 && code != 0x7f) || letter == '\n' || letter == '\t';
    if (plain) {
      out += letter;
    } else {
      out += fmt::format("\\x{:02x}", code);
    }
  }
}

/// The first `most` bytes of `text`, not ending within a character.
std::string_view beginning_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return text.substr(0, most);
}

}  // namespace

std::string marked_text(const std::vector<engine::ShownPiece>& pieces, LearntMarks marks,
                        std::size_t most) {
  std::string out;
  std::size_t left_out = 0;
  for (const engine::ShownPiece& piece : pieces) {
    const std::string_view shown = beginning_of(piece.text, most);
    most -= shown.size();
    left_out += piece.text.size() - shown.size();
    if (left_out > 0) most = 0;
    if (shown.empty()) continue;
    if (piece.learnt) out += begin_mark(marks);
    append_visible(out, shown);
    if (piece.learnt) out += end_mark(marks);
  }
  if (left_out > 0) out += fmt::format(" ... ({} bytes more)", left_out);
  return out;
}

std::string marked_ids(const std::vector<engine::LearntToken>& tokens, LearntMarks marks,
                       std::size_t most) {
  std::string out;
  bool learnt = false;
  const std::size_t shown = std::min(most, tokens.size());
  for (std::size_t i = 0; i < shown; ++i) {
    if (learnt && !engine::is_learnt(tokens[i])) out += end_mark(marks);
    if (i > 0) out += ' ';
    if (!learnt && engine::is_learnt(tokens[i])) out += begin_mark(marks);
    learnt = engine::is_learnt(tokens[i]);
    out += std::to_string(engine::id_of(tokens[i]));
  }
  if (learnt) out += end_mark(marks);
  if (shown < tokens.size()) out += fmt::format(" ... ({} more)", tokens.size() - shown);
  return out;
}

}  // namespace sluice::cli
