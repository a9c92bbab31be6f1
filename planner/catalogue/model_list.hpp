// Models as `sluice models --json` prints them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "planner/models/shape.hpp"

namespace sluice::planner {

/// Bytes of one parameter's fp32 master weight, m and v together.
inline constexpr std::int64_t kStateBytesAParameter = 12;

/// A row of the model list for units of equal tensors: embedding, blocks of one size, or head.
struct UnitRow {
  const char* name;
  /// Index, among all units of the model, of the first of this kind; units are in the order
  /// embedding, blocks, head.
  std::size_t index;
  std::int64_t times;  ///< Number of the model's units of this kind (embedding, block or head).
};
/// Rows of all units; blocks have one row for each of their sizes.
[[nodiscard]] std::vector<UnitRow> unit_rows(const ModelShape& shape);

/// All models as JSON text (docs/schemas/model-list.schema.json), pretty-printed, with one newline
/// at the end.
[[nodiscard]] std::string model_list_json();
/// One model as JSON text (docs/schemas/model.schema.json).
[[nodiscard]] std::string model_json(const ModelShape& shape);

}  // namespace sluice::planner
