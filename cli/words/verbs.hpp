// The verbs of the program: one free function each, in cli/<verb>.cpp; main dispatches by table.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

/// What the command line holds after the verb.
struct Arguments {
  std::vector<std::string> strings;
};

/// Returns the process exit code; refusals are thrown as sluice::Error.
using VerbFunction = int (*)(const Arguments&);

struct Verb {
  const char* name;
  const char* summary;
  VerbFunction run;
};

/// Every verb this build has, in the order `sluice --help` lists them.
[[nodiscard]] std::span<const Verb> verbs();

// SLUICE_VERB(name, summary): cli/words/verbs.def lists them; a verb is declared whether or not
// this build has it.
#define SLUICE_VERB(name, summary) int run_##name(const Arguments& arguments);
#include "cli/words/verbs.def"
#undef SLUICE_VERB

}  // namespace sluice::cli
