// What a Jinja template's source consists of, without running it.
#pragma once

#include <string>
#include <vector>

namespace sluice::engine {

/// Literals in order: those of expressions and statements with their escapes undone, and the text
/// between tags where it is not blank. `code` is the tags' contents with every literal emptied, one
/// space for each run of white space.
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
