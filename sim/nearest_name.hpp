// The known name nearest to a mistyped one, for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::sim {

/// Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// The member of `known` with the smallest edit distance to `name`, the first of several; empty
/// only if `known` is empty. Upper and lower case count as equal unless two members tie.
[[nodiscard]] std::string_view nearest_name(std::string_view name,
                                            std::span<const std::string_view> known);
[[nodiscard]] std::string nearest_name(std::string_view name,
                                       const std::vector<std::string>& known);

/// Text such as `; did you mean "cap"?`, to append to a message that refuses `name`; empty if
/// `known` is empty.
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       std::span<const std::string_view> known);
[[nodiscard]] std::string did_you_mean(std::string_view name,
                                       const std::vector<std::string>& known);

}  // namespace sluice::sim
