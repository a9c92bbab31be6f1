// JSON that came from somewhere else: read once, with its nesting bounded.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sluice::engine {

/// Parses `text` into sorted objects. Throws BadRequest `WHERE: ...` where it is no JSON, gives one
/// key twice in an object, or nests deeper than `most_levels`.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, const std::string& where,
                                               int most_levels);

}  // namespace sluice::engine
