#include "cli/words/listing.hpp"

#include <CLI/CLI.hpp>

#include "cli/words/parse.hpp"
#include "sim/error.hpp"

namespace sluice::cli {

Listing parse_listing(const Arguments& arguments, const std::string& verb, const std::string& what,
                      const std::string& help) {
  CLI::App app("List the catalogue of " + verb + ", or show one.", verb);
  Listing listing;
  std::vector<std::string> words;
  app.add_flag("--json", listing.json, "one JSON object on stdout");
  app.add_option("words", words, help)->type_name(what);
  parse(app, arguments);
  if (!words.empty() && words.front() == "list") {
    if (words.size() > 1) throw BadRequest(verb + " list: takes no name; use show NAME");
    return listing;
  }
  if (!words.empty() && words.front() == "show") {
    words.erase(words.begin());
    if (words.empty()) throw BadRequest(verb + " show: a name is missing after it");
  }
  if (words.size() > 1) throw BadRequest("unexpected argument \"" + words[1] + "\"");
  if (!words.empty()) listing.shown = words.front();
  return listing;
}

}  // namespace sluice::cli
