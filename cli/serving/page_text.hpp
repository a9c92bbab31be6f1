// The page's parts, built into the program.
#pragma once

namespace sluice::cli {

extern const char* const kServedPage;       ///< The HTML document.
extern const char* const kServedStyle;      ///< Its style sheet.
extern const char* const kServedScripts[];  ///< Parts of its script, in order; ends with nullptr.

}  // namespace sluice::cli
