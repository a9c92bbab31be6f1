// Models as `sluice models --json` prints them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "planner/models/shape.hpp"

namespace sluice::planner {

inline constexpr std::int64_t kStateBytesAParameter = 12;  ///< Master, m and v of a parameter.

/// A kind of unit of a model: embed, block, head.
struct UnitRow {
  const char* name;
  std::size_t index;   ///< Of its first unit.
  std::int64_t times;  ///< Units of this kind.
};
[[nodiscard]] std::array<UnitRow, 3> unit_rows(const ModelShape& shape);

/// docs/schemas/model-list.schema.json; pretty-printed, one newline at the end.
[[nodiscard]] std::string model_list_json();
/// docs/schemas/model.schema.json.
[[nodiscard]] std::string model_json(const ModelShape& shape);

}  // namespace sluice::planner
