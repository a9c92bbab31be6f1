#include "cli/words/parse.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "sim/error.hpp"
#include "sim/nearest_name.hpp"

namespace sluice::cli {
namespace {

std::vector<std::string> long_options(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string unknown_argument(const CLI::App& app, const std::string& word) {
  const std::vector<std::string> known = long_options(app);
  if (word.starts_with("-") && !known.empty()) {
    const std::string name = word.substr(0, word.find('='));
    return "unknown option " + name + sim::did_you_mean(name, known);
  }
  return "unexpected argument \"" + word + "\"";
}

}  // namespace

void parse(CLI::App& app, const Arguments& arguments) {
  std::vector<std::string> reversed(arguments.strings.rbegin(), arguments.strings.rend());
  const std::string see = " (see sluice " + app.get_name() + " --help)";
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help("sluice");
    throw HelpShown{};
  } catch (const CLI::ParseError& error) {
    // Unknown arguments are reported first, because a misspelt option is the likely cause of the
    // rest.
    const std::vector<std::string> extras = app.remaining();
    throw BadRequest((extras.empty() ? error.what() : unknown_argument(app, extras.front())) + see);
  }
}

}  // namespace sluice::cli
