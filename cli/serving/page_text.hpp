// The page's parts, built into the program.
#pragma once

namespace sluice::cli {

extern const char* const kServedPage;       ///< The HTML document.
extern const char* const kServedStyle;      ///< The style sheet of the page.
extern const char* const kServedScripts[];  ///< Parts of the script, in order; ends with nullptr.

}  // namespace sluice::cli
