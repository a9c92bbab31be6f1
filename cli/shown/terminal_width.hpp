// Width of the terminal that progress is shown on.
#pragma once

#include <string>

namespace sluice::cli {

/// Columns of the terminal on stderr as it is now; 80 where it does not say, or is none.
[[nodiscard]] int terminal_width();

/// Writes `text` in place of the terminal's current line on stderr, cut to what fits: a line that
/// reached the last column would go on in the next one, and could not be overwritten.
void show_in_place(const std::string& text);

}  // namespace sluice::cli
