#include "sim/json_tree.hpp"

#include <nlohmann/json.hpp>

namespace sluice::sim {

Json json_tree(const JsonValue& value) { return JsonTreeBuilder<Json>::build(value); }

}  // namespace sluice::sim
