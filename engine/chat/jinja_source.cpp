#include "engine/chat/jinja_source.hpp"

#include <algorithm>
#include <string_view>

namespace sluice::engine {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

char unescaped(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    default:
      return letter;
  }
}

/// Reads the literal whose opening quote is at `at`; returns the index after the closing quote.
std::size_t read_literal(std::string_view text, std::size_t at, std::string& out) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      out += unescaped(text[++at]);
    } else {
      out += text[at];
    }
  }
  return at + 1;
}

void append_code(char letter, std::string& code) {
  const bool blank = kBlank.find(letter) != std::string_view::npos;
  if (blank && (code.empty() || code.back() == ' ')) return;
  code += blank ? ' ' : letter;
}

/// Reads the inside of a tag from `at` up to the first `end` outside literals; returns the index
/// after that.
std::size_t read_tag(std::string_view text, std::size_t at, std::string_view end,
                     JinjaSource& out) {
  while (at < text.size() && !text.substr(at).starts_with(end)) {
    if (text[at] == '\'' || text[at] == '"') {
      std::string literal;
      at = read_literal(text, at, literal);
      out.literals.push_back(std::move(literal));
      out.code += "''";
    } else {
      append_code(text[at++], out.code);
    }
  }
  append_code(' ', out.code);
  return std::min(at + end.size(), text.size());
}

}  // namespace

bool JinjaSource::any_literal_with(const std::string& part) const {
  return std::ranges::any_of(
      literals, [&](const std::string& each) { return each.find(part) != std::string::npos; });
}

bool JinjaSource::has_literal(const std::string& whole) const {
  return std::ranges::find(literals, whole) != literals.end();
}

JinjaSource read_jinja(const std::string& source) {
  JinjaSource out;
  const std::string_view text = source;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("{#")) {
      const std::size_t end = text.find("#}", at + 2);
      at = end == std::string_view::npos ? text.size() : end + 2;
    } else if (rest.starts_with("{{")) {
      at = read_tag(text, at + 2, "}}", out);
    } else if (rest.starts_with("{%")) {
      at = read_tag(text, at + 2, "%}", out);
    } else {
      std::size_t end = at + 1;
      while (end < text.size() &&
             !(text[end] == '{' && end + 1 < text.size() &&
               (text[end + 1] == '{' || text[end + 1] == '%' || text[end + 1] == '#'))) {
        ++end;
      }
      const std::string_view between = text.substr(at, end - at);
      if (between.find_first_not_of(kBlank) != std::string_view::npos) {
        out.literals.emplace_back(between);
      }
      at = end;
    }
  }
  return out;
}

}  // namespace sluice::engine
