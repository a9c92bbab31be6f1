#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/completion/scripts.hpp"

namespace sluice::cli {
namespace {

/// Text between single quotes, as fish reads it.
std::string fish_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

}  // namespace

std::string fish_script(const std::vector<DescribedVerb>& verbs) {
  std::string script = "# fish completion of sluice, written by `sluice completion fish`.\n";
  for (const DescribedVerb& verb : verbs) {
    script += fmt::format("complete -c sluice -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                          fish_quoted(verb.summary));
  }
  for (const DescribedVerb& verb : verbs) {
    const std::string where =
        fmt::format("complete -c sluice -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const DescribedOption& option : verb.options) {
      script += where;
      for (const std::string& name : option.names) {
        script += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.choices.empty()) {
        script += fmt::format(" -x -a {}",
                              fish_quoted(fmt::format("{}", fmt::join(option.choices, " "))));
      } else if (!option.value.empty()) {
        script += " -r";
      }
      script += fmt::format(" -d {}\n", fish_quoted(option.text));
    }
    if (!verb.words.empty()) {
      script += fmt::format("{} -a {}\n", where,
                            fish_quoted(fmt::format("{}", fmt::join(verb.words, " "))));
    }
  }
  return script;
}

}  // namespace sluice::cli
