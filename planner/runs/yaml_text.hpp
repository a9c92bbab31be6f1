// Text that YAML reads back as it was.
#pragma once

#include <string>

namespace YAML {
class Node;
}

namespace sluice::planner {

/// `value` in quotation marks, with control characters as escapes, as YAML reads it back.
[[nodiscard]] std::string in_quotes(const std::string& value);

/// The node as one line of YAML, all of its scalars in quotation marks and nulls as ~.
[[nodiscard]] std::string flow_text(const YAML::Node& node);

}  // namespace sluice::planner
