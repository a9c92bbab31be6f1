// Parts of a data set's split.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sluice::planner {

/// The first rows of a split.
struct SplitSlice {
  std::string name;                       ///< Name of the split.
  std::optional<std::int64_t> rows = {};  ///< Number of rows; none where it is not stated.
  std::optional<double> percent = {};     ///< Percentage of the rows; none where it is not stated.
};

/// Parses a split as Hugging Face's datasets write it: "train", "train[:1000]" or "train[:20%]".
/// Throws BadRequest naming `path` for other parts of a split than its first rows.
[[nodiscard]] SplitSlice parse_split(const std::string& value, const std::string& path);

/// Parses a percentage above 0 and up to 100, such as "20%". Throws BadRequest naming `path`.
[[nodiscard]] double parse_percent(const std::string& value, const std::string& path);

}  // namespace sluice::planner
