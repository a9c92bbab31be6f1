// Strict parser for JSON from other programs, with bounded nesting.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace sluice::engine {

/// Parses `text` into objects with sorted keys. Throws BadRequest `WHERE: ...` if it is no JSON,
/// repeats a key within an object, or nests deeper than `most_levels`.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, const std::string& where,
                                               int most_levels);

}  // namespace sluice::engine
