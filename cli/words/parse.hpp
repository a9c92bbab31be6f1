// Parsing of verbs' command lines with CLI11, under this program's rules for help and refusals.
#pragma once

#include "cli/words/verbs.hpp"

namespace CLI {
class App;
}

namespace sluice::cli {

/// Thrown by parse() once the help text is on stdout; main then exits with 0.
struct HelpShown {};

/// Parses `arguments` into `app`. `--help` prints the verb's help and throws HelpShown; anything
/// that CLI11 refuses becomes a one-line BadRequest that names the nearest option.
void parse(CLI::App& app, const Arguments& arguments);

}  // namespace sluice::cli
