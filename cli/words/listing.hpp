// Command lines of `machines` and `models`: list all, or show one.
#pragma once

#include <optional>
#include <string>

#include "cli/words/verbs.hpp"

namespace sluice::cli {

struct Listing {
  std::optional<std::string> shown;  ///< Name of the entry to show; none to list all entries.
  bool json = false;
};

/// Parses `[list] [--json]` or `[show] NAME [--json]` of the verb `verb`; `what` names its entries
/// in the help text `help`.
[[nodiscard]] Listing parse_listing(const Arguments& arguments, const std::string& verb,
                                    const std::string& what,
                                    const std::string& help = "list, or show NAME");

}  // namespace sluice::cli
