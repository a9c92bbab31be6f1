// The self-contained HTML page of all reports.
#pragma once

#include <string>

#include "sim/json_object.hpp"

namespace sluice::profiler {

/// The page with its style and scripts and with `data` embedded so that no text in it can end its
/// element. Refers to nothing outside the page.
[[nodiscard]] std::string page_html(const sim::Json& data);

}  // namespace sluice::profiler
