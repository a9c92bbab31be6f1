// The self-contained HTML page that all reports are drawn on.
#pragma once

#include <string>

#include "sim/json_object.hpp"

namespace sluice::profiler {

/// Page, style and scripts of this folder with `data` in them, so that no text of it can end the
/// element it lies in. Nothing outside the page is referred to.
[[nodiscard]] std::string page_html(const sim::Json& data);

}  // namespace sluice::profiler
