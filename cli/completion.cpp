// `sluice completion`: what shells and man know of the command line.
#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/completion/manual_page.hpp"
#include "cli/completion/scripts.hpp"
#include "cli/words/parse.hpp"
#include "sim/error.hpp"

namespace sluice::cli {

int run_completion(const Arguments& arguments) {
  CLI::App app(
      "Writes to stdout what a shell completes (bash, zsh, fish), or the manual page (man). In "
      "~/.bashrc: eval \"$(sluice completion bash)\".",
      "completion");
  std::string kind;
  app.add_option("kind", kind, "bash, zsh, fish or man")->required();
  parse(app, arguments);
  const std::vector<DescribedVerb> verbs = described_verbs();
  if (kind == "bash") {
    std::cout << bash_script(verbs);
  } else if (kind == "zsh") {
    std::cout << zsh_script(verbs);
  } else if (kind == "fish") {
    std::cout << fish_script(verbs);
  } else if (kind == "man") {
    std::cout << manual_page(verbs);
  } else {
    throw BadRequest("completion: kind is " + kind + "; it must be bash, zsh, fish or man");
  }
  return 0;
}

}  // namespace sluice::cli
