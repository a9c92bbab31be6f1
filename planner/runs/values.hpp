// How values of a run's keys are read from text. All throw BadRequest naming `path`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "sim/units.hpp"

namespace sluice::planner {

/// Empty, or YAML's null.
[[nodiscard]] bool is_none(const std::string& value);
/// That, or a word for "without".
[[nodiscard]] bool says_off(const std::string& value);

[[nodiscard]] std::int64_t parse_positive(const std::string& value, const std::string& path);
/// A capacity; none for none.
[[nodiscard]] std::optional<Bytes> parse_limit(const std::string& value, const std::string& path);
[[nodiscard]] std::optional<BytesPerSecond> parse_rate_limit(const std::string& value,
                                                             const std::string& path);
/// Not empty.
[[nodiscard]] std::string parse_name(const std::string& value, const std::string& path);
[[nodiscard]] std::optional<std::filesystem::path> parse_file(const std::string& value);
[[nodiscard]] double parse_between(const std::string& value, const std::string& path, double least,
                                   double most);
[[nodiscard]] double parse_non_negative(const std::string& value, const std::string& path);
[[nodiscard]] bool parse_yes_or_no(const std::string& value, const std::string& path);

}  // namespace sluice::planner
