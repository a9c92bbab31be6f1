// The parts of composed machines as `sluice machines parts --json` lists them.
#pragma once

#include <string>

namespace sluice::planner {

/// All parts as JSON text (docs/schemas/part-list.schema.json), pretty-printed, with one newline at
/// the end.
[[nodiscard]] std::string part_list_json();

}  // namespace sluice::planner
