// Lexer of Jinja templates: what a source consists of, without running it.
#pragma once

#include <string>
#include <vector>

namespace sluice::engine {

/// The string literals of a template in order: those in expressions and statements, with escapes
/// undone, and the non-blank text between tags. `code` holds the tags' contents with every literal
/// emptied and each run of white space as one space.
struct JinjaSource {
  std::vector<std::string> literals;
  std::string code;

  [[nodiscard]] bool any_literal_with(const std::string& part) const;
  [[nodiscard]] bool has_literal(const std::string& whole) const;
  [[nodiscard]] bool code_has(const std::string& part) const {
    return code.find(part) != std::string::npos;
  }
};

[[nodiscard]] JinjaSource read_jinja(const std::string& source);

}  // namespace sluice::engine
