// Text that YAML reads back as it was.
#pragma once

#include <string>

namespace YAML {
class Node;
}

namespace sluice::planner {

/// Text in quotation marks, control characters written as escapes.
[[nodiscard]] std::string in_quotes(const std::string& value);

/// A node in one line, all of its scalars in quotation marks and nulls as ~.
[[nodiscard]] std::string flow_text(const YAML::Node& node);

}  // namespace sluice::planner
