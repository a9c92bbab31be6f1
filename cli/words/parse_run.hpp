// Parsing of command lines of verbs that take a RUN: planner::parse_run with --help.
#pragma once

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "cli/words/parse.hpp"
#include "planner/requests/run_arguments.hpp"
#include "sim/warning.hpp"

namespace sluice::cli {

/// Whether a verb accepts only runs with all terms of the model of time on, or any
/// (`term.NAME=off`).
enum class Terms {
  /// Only runs with all terms on, because the verb executes what is predicted or gives advice based
  /// on it.
  all,
  any,
};

/// Reads the RUN and the verb's own flags; `--help` prints `usage` ("sluice predict RUN [flags]"),
/// the verb's flags and the run flags, and throws HelpShown. Throws BadRequest.
[[nodiscard]] inline planner::RunArguments parse_run(const Arguments& arguments,
                                                     const std::string& usage,
                                                     const std::vector<planner::VerbFlag>& own,
                                                     Terms terms = Terms::all) {
  planner::RunArguments run = planner::parse_run(arguments.strings, own);
  if (!run.has("--help")) {
    if (terms == Terms::all) require_all_terms(run.config.terms);
    for (const std::string& note : run.config.notes) {
      sim::note(note);
    }
    return run;
  }
  constexpr std::size_t kColumn = 26;
  std::cout << "Usage: " << usage
            << "\n\nRUN is a RUN.yaml with key=value overrides, or the flags that stand for one.\n";
  if (!own.empty()) std::cout << '\n';
  for (const planner::VerbFlag& flag : own) {
    std::string name = flag.name + (flag.takes == planner::VerbFlag::Takes::value ? " VALUE" : "");
    name.resize(std::max(kColumn, name.size() + 1), ' ');
    std::cout << "  " << name << flag.help << '\n';
  }
  std::cout << "\nThe run:\n" << planner::run_flags_help();
  throw HelpShown{};
}

}  // namespace sluice::cli
