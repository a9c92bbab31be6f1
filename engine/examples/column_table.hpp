// Tables that are written by columns, which are one row to a reader of rows.
#pragma once

#include <optional>

#include "engine/examples/example.hpp"

namespace sluice::engine {

/// The refusal of a row that is a whole table by columns: lists of texts, all of one length, or
/// objects with the same numbers for names, as pandas' to_json writes them. None for other rows.
[[nodiscard]] std::optional<BadExample> column_table(const Json& row);

}  // namespace sluice::engine
