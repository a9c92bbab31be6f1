// Completion scripts of shells, made of the described verbs.
#pragma once

#include <string>
#include <vector>

#include "cli/completion/described_verbs.hpp"

namespace sluice::cli {

/// Script for bash 4 or newer, to be sourced or kept as bash-completion/completions/sluice.
[[nodiscard]] std::string bash_script(const std::vector<DescribedVerb>& verbs);

/// Script for zsh, to be kept as _sluice in a folder of $fpath.
[[nodiscard]] std::string zsh_script(const std::vector<DescribedVerb>& verbs);

/// Script for fish, to be kept as completions/sluice.fish.
[[nodiscard]] std::string fish_script(const std::vector<DescribedVerb>& verbs);

}  // namespace sluice::cli
