// Instances of clouds in a price file.
#pragma once

#include <map>
#include <string>

#include "planner/requests/instance.hpp"

namespace YAML {
class Node;
}

namespace sluice::planner {

/// Reads the map "instances" of a price file, by the names that it gives them. Throws BadRequest
/// naming the field, which starts with `where`: for unknown keys and GPUs, for a number that is not
/// positive, and for an entry without date or address.
[[nodiscard]] std::map<std::string, Instance> read_instances(const YAML::Node& section,
                                                             const std::string& where);

}  // namespace sluice::planner
