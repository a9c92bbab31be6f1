#include "cli/completion/described_verbs.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>

#include "cli/words/parse.hpp"
#include "planner/catalogue/known_models.hpp"
#include "planner/catalogue/machine_list.hpp"
#include "planner/catalogue/parts.hpp"
#include "planner/policies/policy.hpp"

namespace sluice::cli {
namespace {

/// Redirects std::cout to a text while it lives.
class CapturedOutput {
 public:
  [[nodiscard]] CapturedOutput() : before_(std::cout.rdbuf(text_.rdbuf())) {}
  ~CapturedOutput() { std::cout.rdbuf(before_); }
  CapturedOutput(const CapturedOutput&) = delete;  // Two would restore each other's buffer.
  CapturedOutput& operator=(const CapturedOutput&) = delete;
  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

std::string help_of(const Verb& verb) {
  const CapturedOutput output;
  try {
    verb.run(Arguments{{"--help"}});
  } catch (const HelpShown&) {
  }
  return output.text();
}

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? ""
                                    : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

std::vector<std::string> pieces(const std::string& text, char between) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string piece; std::getline(stream, piece, between);) found.push_back(piece);
  return found;
}

/// Splits "-o,--out TEXT=runs" into names and value; a value of two words or more is its first.
DescribedOption option_of(const std::string& head, const std::string& text) {
  DescribedOption option{.names = pieces(head.substr(0, head.find(' ')), ','),
                         .value = {},
                         .text = text,
                         .choices = {}};
  const std::size_t space = head.find(' ');
  if (space == std::string::npos) return option;
  const std::string value = trimmed(head.substr(space));
  option.value = value.substr(0, value.find_first_of(" :="));
  if (option.value.find('|') != std::string::npos) option.choices = pieces(option.value, '|');
  return option;
}

/// Names that the catalogue has for the value of an option.
std::vector<std::string> known_values(const std::string& option) {
  std::vector<std::string> names;
  const auto collect = [&names](const auto& parts) {
    for (const auto& part : parts) names.push_back(part.name);
  };
  if (option == "--model") collect(planner::catalogue_models());
  if (option == "--machine") collect(planner::listed_machines());
  if (option == "--gpu") collect(planner::gpu_parts());
  if (option == "--cpu") collect(planner::cpu_parts());
  if (option == "--policy") names = planner::policy_names();
  if (option == "--compute") names = {"bf16", "fp32", "fp8", "fp8-tensorwise"};
  if (option == "--gradient-wire") names = {"fp32", "bf16"};
  if (option == "--backend") names = {"cuda", "host"};
  return names;
}

std::vector<std::string> known_words(const std::string& verb) {
  if (verb == "models") return known_values("--model");
  if (verb == "completion") return {"bash", "zsh", "fish", "man"};
  if (verb == "cost") return {"gemm", "attention"};
  if (verb == "fit") return {"kernels"};
  if (verb != "machines") return {};
  std::vector<std::string> words = known_values("--machine");
  words.insert(words.end(), {"parts", "reset", "merge"});
  return words;
}

}  // namespace

std::vector<DescribedOption> options_in(const std::string& help) {
  std::vector<DescribedOption> options;
  const std::vector<std::string> lines = pieces(help, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].starts_with("  -")) continue;
    const std::size_t gap = lines[i].find("  ", 2);
    std::string text = gap == std::string::npos ? "" : trimmed(lines[i].substr(gap));
    // A head that leaves no room has its text on the line below.
    const bool below = text.empty() && i + 1 < lines.size() && lines[i + 1].starts_with("      ");
    if (below) text = trimmed(lines[i + 1]);
    options.push_back(option_of(trimmed(lines[i].substr(0, gap)), text));
  }
  for (DescribedOption& option : options) {
    for (const std::string& name : option.names) {
      if (option.choices.empty()) option.choices = known_values(name);
    }
  }
  return options;
}

std::vector<DescribedVerb> described_verbs() {
  std::vector<DescribedVerb> described;
  for (const Verb& verb : verbs()) {
    DescribedVerb one{.name = verb.name,
                      .summary = verb.summary,
                      .help = help_of(verb),
                      .options = {},
                      .words = known_words(verb.name)};
    one.options = options_in(one.help);
    const bool helps = std::ranges::any_of(one.options, [](const DescribedOption& option) {
      return std::ranges::count(option.names, "--help") > 0;
    });
    if (!helps) {
      one.options.push_back(
          {.names = {"-h", "--help"}, .value = {}, .text = "print this help", .choices = {}});
    }
    described.push_back(std::move(one));
  }
  return described;
}

}  // namespace sluice::cli
