// Every verb with its options, as `sluice VERB --help` states them: what completions and the manual
// page are made of.
#pragma once

#include <string>
#include <vector>

namespace sluice::cli {

struct DescribedOption {
  std::vector<std::string> names;  ///< All spellings, such as "-o" and "--out".
  /// Word that stands for the option's value, such as "SIZE"; empty where it takes none.
  std::string value;
  std::string text;                  ///< What the option does, in one sentence without a full stop.
  std::vector<std::string> choices;  ///< Values that are known by name; empty: any, often a file.
};

struct DescribedVerb {
  std::string name;
  std::string summary;
  std::string help;  ///< The whole text of `sluice VERB --help`.
  std::vector<DescribedOption> options;
  /// First words that are no options and are known by name, such as a machine's after `machines`.
  std::vector<std::string> words;
};

/// The options that a verb's help lists: lines of two spaces, names, a value and a text.
[[nodiscard]] std::vector<DescribedOption> options_in(const std::string& help);

/// All verbs of this build, in the order of `sluice --help`.
[[nodiscard]] std::vector<DescribedVerb> described_verbs();

}  // namespace sluice::cli
