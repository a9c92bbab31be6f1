// Parsers for the values of a run's keys. All throw BadRequest naming `path`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/units.hpp"

namespace sluice::planner {

/// Whether `value` is empty, one of YAML 1.1's words for null, or Python's None.
[[nodiscard]] bool is_none(const std::string& value);
/// Whether `value` is null (is_none), or off, none, false or no in any of YAML 1.1's spellings.
[[nodiscard]] bool says_off(const std::string& value);
/// Whether `value` is YAML 1.1's true, yes or on in any of their spellings.
[[nodiscard]] bool says_true(const std::string& value);

[[nodiscard]] std::int64_t parse_positive(const std::string& value, const std::string& path);
/// Parses a capacity in bytes; none for a null (is_none).
[[nodiscard]] std::optional<Bytes> parse_limit(const std::string& value, const std::string& path);
[[nodiscard]] std::optional<BytesPerSecond> parse_rate_limit(const std::string& value,
                                                             const std::string& path);
/// Returns `value`. Throws BadRequest, beginning with `path`, where it is null (is_none).
[[nodiscard]] std::string parse_name(const std::string& value, const std::string& path);
[[nodiscard]] std::optional<std::filesystem::path> parse_file(const std::string& value);
[[nodiscard]] double parse_between(const std::string& value, const std::string& path, double least,
                                   double most);
[[nodiscard]] double parse_non_negative(const std::string& value, const std::string& path);
[[nodiscard]] bool parse_yes_or_no(const std::string& value, const std::string& path);

}  // namespace sluice::planner
