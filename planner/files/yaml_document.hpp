// What people write as YAML: one document of UTF-8, refused with its line.
#pragma once

#include <functional>
#include <string>

namespace YAML {
class Node;
}

namespace sluice::planner {

/// Hands the only document of `text` to `read`. Throws BadRequest with `where`, and line and column
/// where there are any, where the text is no UTF-8, no YAML or several documents, and where `read`
/// takes a node for what it is not.
void read_yaml(const std::string& text, const std::string& where,
               const std::function<void(const YAML::Node& document)>& read);

}  // namespace sluice::planner
