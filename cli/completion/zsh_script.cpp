#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/scripts.hpp"

namespace sluice::cli {
namespace {

/// Text for use between single quotes in a specification of _arguments or _describe.
std::string zsh_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      quoted += {'\\', c};
    } else {
      quoted += c;
    }
  }
  return quoted;
}

}  // namespace

std::string zsh_script(const std::vector<DescribedVerb>& verbs) {
  std::string names, cases;
  for (const DescribedVerb& verb : verbs) {
    names += fmt::format("    '{}:{}'\n", verb.name, zsh_quoted(verb.summary));
    cases += fmt::format("    {})\n      _arguments -S \\\n", verb.name);
    for (const DescribedOption& option : verb.options) {
      std::string value;
      if (!option.value.empty()) {
        value = option.choices.empty() ? fmt::format(":{}:_files", zsh_quoted(option.value))
                                       : fmt::format(":{}:({})", zsh_quoted(option.value),
                                                     fmt::join(option.choices, " "));
      }
      for (const std::string& name : option.names) {
        cases += fmt::format("        '*{}[{}]{}' \\\n", name, zsh_quoted(option.text), value);
      }
    }
    if (!verb.words.empty())
      cases += fmt::format("        '1::word:({})' \\\n", fmt::join(verb.words, " "));
    cases += "        '*:file:_files'\n      ;;\n";
  }
  return fmt::format(R"(#compdef sluice
# zsh completion of sluice, written by `sluice completion zsh`.
_sluice() {{
  local -a verbs
  verbs=(
{})
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  local verb=$words[2]
  shift words
  (( CURRENT-- ))
  case $verb in
{}  esac
}}
compdef _sluice sluice
)",
                     names, cases);
}

}  // namespace sluice::cli
