// Verbs of the program: one free function each, in cli/<verb>.cpp; main finds them in a table.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sluice::cli {

/// Words of the command line after the verb.
struct Arguments {
  std::vector<std::string> strings;
};

/// Function of a verb. Returns the process's exit code; refusals are thrown as sluice::Error.
using VerbFunction = int (*)(const Arguments&);

struct Verb {
  const char* name;
  const char* summary;
  VerbFunction run;
};

/// Every verb that this build has, in the order in which `sluice --help` lists them.
[[nodiscard]] std::span<const Verb> verbs();

// Declares the function of every verb that cli/words/verbs.def lists, whether or not this build has
// it.
#define SLUICE_VERB(name, summary) int run_##name(const Arguments& arguments);
#include "cli/words/verbs.def"
#undef SLUICE_VERB

}  // namespace sluice::cli
