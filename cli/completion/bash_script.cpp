#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "cli/completion/scripts.hpp"

namespace sluice::cli {

std::string bash_script(const std::vector<DescribedVerb>& verbs) {
  std::vector<std::string> names{"--help", "--version"};
  std::string flags, words, values;
  std::map<std::string, std::vector<std::string>> choices;  // By option: the same for every verb.
  std::vector<std::string> files;  // Options whose value is a file or free text.
  for (const DescribedVerb& verb : verbs) {
    names.push_back(verb.name);
    std::vector<std::string> of_verb;
    for (const DescribedOption& option : verb.options) {
      of_verb.insert(of_verb.end(), option.names.begin(), option.names.end());
      if (option.value.empty()) continue;
      for (const std::string& name : option.names) {
        if (option.choices.empty()) {
          files.push_back(name);
        } else {
          choices.try_emplace(name, option.choices);
        }
      }
    }
    flags += fmt::format("    {}) flags='{}' ;;\n", verb.name, fmt::join(of_verb, " "));
    if (!verb.words.empty()) {
      words += fmt::format("    {}) words='{}' ;;\n", verb.name, fmt::join(verb.words, " "));
    }
  }
  for (const auto& [name, known] : choices) {
    values += fmt::format("    {}) words='{}'; flags= ;;\n", name, fmt::join(known, " "));
  }
  return fmt::format(R"(# bash completion of sluice, written by `sluice completion bash`.
_sluice() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} flags= words=
  COMPREPLY=()
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W '{}' -- "$word"))
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}    *) return ;;
  esac
  case ${{COMP_WORDS[1]}} in
{}  esac
  case $before in
{}    {}) flags= words= ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$word"))
  fi
}}
complete -o bashdefault -o default -F _sluice sluice
)",
                     fmt::join(names, " "), flags, words, values, fmt::join(files, "|"));
}

}  // namespace sluice::cli
