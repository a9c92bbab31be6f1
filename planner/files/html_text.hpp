// Text inside HTML and SVG.
#pragma once

#include <string>

namespace sluice::planner {

/// `text` with the characters that HTML and SVG give a meaning to (&, <, > and ") written as
/// entities.
[[nodiscard]] std::string html_text(const std::string& text);

}  // namespace sluice::planner
