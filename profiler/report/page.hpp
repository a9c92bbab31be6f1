// The self-contained HTML page that all reports use.
#pragma once

#include <string>

#include "sim/json_object.hpp"

namespace sluice::profiler {

/// Text of the page with its style and scripts, and with `data` embedded so that no text in it can
/// end its element. The page refers to nothing outside itself.
[[nodiscard]] std::string page_html(const sim::Json& data);

}  // namespace sluice::profiler
