// Reading of files that people write as YAML: one document of UTF-8, refused with the line of its
// first error.
#pragma once

#include <functional>
#include <string>

namespace YAML {
class Node;
}

namespace sluice::planner {

/// Calls `read` with the only document of `text`. Throws BadRequest with `where` (the file's name),
/// line and column where `text` is not UTF-8, not YAML or holds several documents, or where `read`
/// uses a node as a kind that it is not.
void read_yaml(const std::string& text, const std::string& where,
               const std::function<void(const YAML::Node& document)>& read);

}  // namespace sluice::planner
