// The manual page sluice(1), made of the described verbs.
#pragma once

#include <string>
#include <vector>

#include "cli/completion/described_verbs.hpp"

namespace sluice::cli {

/// The page as man(7) text: every verb with its summary, usage and options.
[[nodiscard]] std::string manual_page(const std::vector<DescribedVerb>& verbs);

}  // namespace sluice::cli
