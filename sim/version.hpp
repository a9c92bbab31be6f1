// Version of this program, for `--version`, the ledger and manifests.
#pragma once

#include <string_view>

namespace sluice {

/// Version number of this program, such as "0.1.0".
[[nodiscard]] std::string_view version();
/// Commit that the program was built from, with "+" appended if tracked files differed from it;
/// "unknown" if it was built outside a git checkout.
[[nodiscard]] std::string_view commit();

}  // namespace sluice
